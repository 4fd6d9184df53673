// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/corpus.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/data/synthetic.h"
#include "edgewise/text/corpus/text_blocks.h"

namespace edgewise {
namespace {

std::vector<std::string> resolve_paths(const std::vector<std::string>& files, const std::filesystem::path& folder) {
  std::vector<std::string> paths;
  paths.reserve(files.size());
  for (const std::string& file : files) paths.push_back(file == "-" ? file : (folder / file).string());
  return paths;
}

SentencePairs read_split(const std::vector<std::string>& files, const std::filesystem::path& folder) {
  if (files.empty()) return {};
  return read_pairs(resolve_paths(files, folder), {.bad_pairs = BadPairs::kError});
}

/// Returns the files of each corpus.
std::vector<std::vector<std::string>> files_of_corpora(const DataOptions& options) {
  check_files(options, "load_corpus");
  const std::size_t num_corpora = std::max<std::size_t>(options.weights.size(), 1);
  const std::size_t num_files = options.train.size() / num_corpora;
  std::vector<std::vector<std::string>> corpora;
  for (auto file = options.train.begin(); file != options.train.end(); file += static_cast<std::ptrdiff_t>(num_files)) {
    corpora.emplace_back(file, file + static_cast<std::ptrdiff_t>(num_files));
  }
  return corpora;
}

std::vector<TrainingText> open_training(const std::vector<std::vector<std::string>>& files_of_each,
                                        const DataOptions& options, const std::filesystem::path& folder) {
  const PairOptions pair_options{.bad_utf8 = options.bad_utf8, .same_sides = options.same_sides};
  std::vector<TrainingText> corpora;
  for (const std::vector<std::string>& files : files_of_each) {
    const double weight = options.weights.empty() ? 1.0 : options.weights[corpora.size()];
    auto text = std::make_shared<IndexedText>(resolve_paths(files, folder), pair_options, options.limit);
    const std::string name = files.size() == 1 ? files[0] : files[0] + " with " + files[1];
    corpora.push_back({.name = name, .text = std::move(text), .weight = weight});
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
  for (const TrainingText& corpus : train) pairs += corpus.text->report().kept;
  return pairs;
}

Corpus load_corpus(const DataOptions& options, const std::filesystem::path& folder) {
  if (options.task != DataTask::kText) return synthetic_corpus(options);
  const std::vector<std::vector<std::string>> corpora = files_of_corpora(options);
  // Indexing training text can take minutes, so errors in the small files are reported first.
  SentencePairs valid = read_split(options.valid, folder);
  SentencePairs test = read_split(options.test, folder);
  return {.train = open_training(corpora, options, folder), .valid = std::move(valid), .test = std::move(test)};
}

SentencePairs sample_pairs(const std::vector<TrainingText>& corpora, std::int64_t max_pairs) {
  std::int64_t all = 0;
  for (const TrainingText& corpus : corpora) all += corpus.text->report().kept;
  SentencePairs sample;
  for (const TrainingText& corpus : corpora) {
    const std::int64_t size = corpus.text->report().kept;
    const std::int64_t share = max_pairs == 0 || max_pairs >= all ? 0 : (size * max_pairs + all - 1) / all;
    SentencePairs pairs = sample_pairs(*corpus.text, share);
    std::ranges::move(pairs.inputs, std::back_inserter(sample.inputs));
    std::ranges::move(pairs.outputs, std::back_inserter(sample.outputs));
  }
  sample.report.kept = static_cast<std::int64_t>(sample.size());
  return sample;
}

}  // namespace edgewise
