// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/corpus.h"

#include <iterator>
#include <numeric>
#include <string>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/data/synthetic.h"
#include "edgewise/text/indexed_text.h"

namespace edgewise {
namespace {

std::vector<std::string> in_folder(const std::vector<std::string>& files, const std::filesystem::path& folder) {
  std::vector<std::string> paths;
  paths.reserve(files.size());
  for (const std::string& file : files) paths.push_back(file == "-" ? file : (folder / file).string());
  return paths;
}

SentencePairs read_split(const std::vector<std::string>& files, const std::filesystem::path& folder) {
  if (files.empty()) return {};
  return read_pairs(in_folder(files, folder), {.bad_pairs = BadPairs::kError});
}

/// The files of each corpus.
std::vector<std::vector<std::string>> files_of_corpora(const DataOptions& options) {
  check(!options.train.empty(),
        "load_corpus: data.train names no file, needs one TSV file, or two files with a sentence a line");
  if (options.weights.empty()) {
    check(options.train.size() <= 2,
          "load_corpus: data.train names {} files, needs one TSV file, or two files with a sentence a line; for "
          "several corpora give data.weights, a number each",
          options.train.size());
    return {options.train};
  }
  const std::size_t num_corpora = options.weights.size();
  const std::size_t num_files = options.train.size() / num_corpora;
  check(options.train.size() == num_corpora || options.train.size() == 2 * num_corpora,
        "load_corpus: data.train names {} files, but data.weights has {} numbers, needs one TSV file for each, or two "
        "files",
        options.train.size(), num_corpora);
  std::vector<std::vector<std::string>> corpora;
  for (auto file = options.train.begin(); file != options.train.end(); file += static_cast<std::ptrdiff_t>(num_files)) {
    corpora.emplace_back(file, file + static_cast<std::ptrdiff_t>(num_files));
  }
  return corpora;
}

std::string name_of(const std::vector<std::string>& files) {
  return files.size() == 1 ? files[0] : files[0] + " with " + files[1];
}

std::vector<TrainingText> open_training(const DataOptions& options, const std::filesystem::path& folder) {
  const PairOptions pair_options{.bad_utf8 = options.bad_utf8, .same_sides = options.same_sides};
  std::vector<TrainingText> corpora;
  for (const std::vector<std::string>& files : files_of_corpora(options)) {
    const double weight = options.weights.empty() ? 1.0 : options.weights[corpora.size()];
    auto text = std::make_shared<IndexedText>(in_folder(files, folder), pair_options, options.limit);
    corpora.push_back({.name = name_of(files), .text = std::move(text), .weight = weight});
  }
  return corpora;
}

Corpus synthetic_corpus(const DataOptions& options) {
  Splits splits = make_synthetic(options);
  auto text = std::make_shared<TextInMemory>(std::move(splits.train));
  return {.train = {{.name = std::string(enum_name(options.task)), .text = std::move(text)}},
          .valid = std::move(splits.valid),
          .test = std::move(splits.test)};
}

}  // namespace

std::int64_t Corpus::num_training_pairs() const {
  std::int64_t pairs = 0;
  for (const TrainingText& corpus : train) pairs += corpus.text->account().kept;
  return pairs;
}

Corpus load_corpus(const DataOptions& options, const std::filesystem::path& folder) {
  if (options.task != DataTask::kText) return synthetic_corpus(options);
  // The small files first: what is wrong with them should not come out after minutes.
  SentencePairs valid = read_split(options.valid, folder);
  SentencePairs test = read_split(options.test, folder);
  return {.train = open_training(options, folder), .valid = std::move(valid), .test = std::move(test)};
}

SentencePairs sample_pairs(const std::vector<TrainingText>& corpora, std::int64_t most) {
  std::int64_t all = 0;
  for (const TrainingText& corpus : corpora) all += corpus.text->account().kept;
  SentencePairs chosen;
  for (const TrainingText& corpus : corpora) {
    const std::int64_t of_corpus = corpus.text->account().kept;
    // Rounded up, so that a corpus of a few pairs teaches something too.
    const std::int64_t share = most == 0 || most >= all ? 0 : (of_corpus * most + all - 1) / all;
    SentencePairs pairs = sample_pairs(*corpus.text, share);
    std::ranges::move(pairs.inputs, std::back_inserter(chosen.inputs));
    std::ranges::move(pairs.outputs, std::back_inserter(chosen.outputs));
  }
  chosen.account.kept = static_cast<std::int64_t>(chosen.size());
  return chosen;
}

}  // namespace edgewise
