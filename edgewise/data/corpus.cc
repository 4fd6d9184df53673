// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/corpus.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <string>
#include <string_view>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/memory.h"
#include "edgewise/base/random.h"
#include "edgewise/text/corpus/indexed_text.h"

namespace edgewise {
namespace {

std::size_t draw_length(const DataOptions& options, RandomStream& random) {
  const double length = std::round(options.length_mean + options.length_deviation * random.normal());
  return static_cast<std::size_t>(std::max(length, 1.0));
}

std::string draw_letters(const DataOptions& options, RandomStream& random) {
  std::string letters(draw_length(options, random), 'a');
  for (char& letter : letters) {
    letter = static_cast<char>('a' + random.next_below(static_cast<std::uint64_t>(options.symbols)));
  }
  return letters;
}

std::string apply_task(std::string letters, DataTask task) {
  switch (task) {
    case DataTask::kCopy:
      return letters;
    case DataTask::kReverse:
      std::ranges::reverse(letters);
      return letters;
    case DataTask::kSort:
      std::ranges::sort(letters);
      return letters;
    case DataTask::kText:
    case DataTask::kAddition:
      break;
  }
  fail("make_synthetic: task is {}, needs copy, reverse, sort or addition", enum_name(task));
}

std::string join_with_spaces(const std::string& letters) {
  std::string sentence(letters.size() * 2 - 1, ' ');
  for (std::size_t i = 0; i < letters.size(); ++i) sentence[2 * i] = letters[i];
  return sentence;
}

struct LetterPair {
  std::string input;
  std::string output;
};

LetterPair draw_letter_pair(const DataOptions& options, RandomStream& random) {
  const std::string letters = draw_letters(options, random);
  return {join_with_spaces(letters), join_with_spaces(apply_task(letters, options.task))};
}

/// Draws two numbers, the longer one with a drawn number of digits, and adds them.
LetterPair draw_sum(const DataOptions& options, RandomStream& random) {
  const std::size_t longer = draw_length(options, random);
  const std::size_t shorter = 1 + random.next_below(longer);
  const bool is_first_longer = random.next_below(2) == 1;
  LetterPair pair;
  std::uint64_t carry = 0;
  for (std::size_t column = 0; column <= longer; ++column) {
    const std::uint64_t of_longer = column < longer ? random.next_below(10) : 0;
    const std::uint64_t of_shorter = column < shorter ? random.next_below(10) : 0;
    const std::uint64_t sum = of_longer + of_shorter + carry;
    carry = sum / 10;
    const std::string_view space = column == 0 ? "" : " ";
    pair.input += fmt::format("{}{}{}", space, is_first_longer ? of_longer : of_shorter,
                              is_first_longer ? of_shorter : of_longer);
    pair.output += fmt::format("{}{}", space, sum % 10);
  }
  return pair;
}

SentencePairs make_split(const DataOptions& options, std::int64_t size, RandomStream random) {
  SentencePairs pairs;
  for (std::int64_t i = 0; i < size; ++i) {
    LetterPair pair =
        options.task == DataTask::kAddition ? draw_sum(options, random) : draw_letter_pair(options, random);
    pairs.inputs.push_back(std::move(pair.input));
    pairs.outputs.push_back(std::move(pair.output));
  }
  pairs.report.kept = size;
  return pairs;
}

/// Returns the mean length of sentences: that of max(1, x) for a normally distributed x.
double mean_length(const DataOptions& options) {
  const double above = options.length_mean - 1;
  const double deviation = options.length_deviation;
  if (deviation == 0) return std::max(options.length_mean, 1.0);
  const double distance = above / deviation;
  const double share = 0.5 * std::erfc(-distance / std::numbers::sqrt2);  // the share of lengths above 1
  const double density = std::exp(-distance * distance / 2) / std::sqrt(2 * std::numbers::pi);
  return 1 + above * share + deviation * density;
}

/// Returns about how many bytes the sentences of all splits take: each pair has two strings, with a space between the
/// letters, of which a column of digits has two.
double bytes_of_pairs(const DataOptions& options) {
  const auto pairs = static_cast<double>(options.train_size + options.valid_size + options.test_size);
  const double bytes_of_letter = options.task == DataTask::kAddition ? 2.5 : 2;
  return 2 * pairs * (static_cast<double>(sizeof(std::string)) + bytes_of_letter * mean_length(options));
}

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
  const PairOptions pair_options{
      .bad_utf8 = options.bad_utf8, .same_sides = options.same_sides, .has_links = !options.alignments.empty()};
  std::vector<TrainingText> corpora;
  for (const std::vector<std::string>& files : files_of_each) {
    const double weight = options.weights.empty() ? 1.0 : options.weights[corpora.size()];
    std::vector<std::string> paths = resolve_paths(files, folder);
    if (pair_options.has_links) paths.push_back(resolve_paths({options.alignments[corpora.size()]}, folder).front());
    auto text = std::make_shared<IndexedText>(paths, pair_options, options.limit);
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

Splits make_synthetic(const DataOptions& options) {
  check(options.symbols >= 1 && options.symbols <= 26, "make_synthetic: symbols is {}, needs 1 to 26", options.symbols);
  check(options.train_size >= 1, "make_synthetic: train_size is {}, needs at least 1", options.train_size);
  require_memory(bytes_of_pairs(options),
                 fmt::format("make_synthetic: {} + {} + {} pairs of {} letters", options.train_size, options.valid_size,
                             options.test_size, std::round(mean_length(options))),
                 "choose fewer or shorter pairs");
  return {.train = make_split(options, options.train_size, RandomStream(options.seed, 0)),
          .valid = make_split(options, options.valid_size, RandomStream(options.seed, 1)),
          .test = make_split(options, options.test_size, RandomStream(options.seed, 2))};
}

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
