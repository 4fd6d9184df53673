// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/synthetic.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "edgewise/base/error.h"
#include "edgewise/base/memory.h"
#include "edgewise/base/random.h"

namespace edgewise {
namespace {

std::string draw_letters(const DataOptions& options, RandomStream& random) {
  const double length = std::round(options.length_mean + options.length_deviation * random.normal());
  std::string letters(static_cast<std::size_t>(std::max(length, 1.0)), 'a');
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
      break;
  }
  fail("make_synthetic: task is {}, needs copy, reverse or sort", enum_name(task));
}

std::string join_with_spaces(const std::string& letters) {
  std::string sentence(letters.size() * 2 - 1, ' ');
  for (std::size_t i = 0; i < letters.size(); ++i) sentence[2 * i] = letters[i];
  return sentence;
}

SentencePairs make_split(const DataOptions& options, std::int64_t size, RandomStream random) {
  SentencePairs pairs;
  for (std::int64_t i = 0; i < size; ++i) {
    const std::string letters = draw_letters(options, random);
    pairs.inputs.push_back(join_with_spaces(letters));
    pairs.outputs.push_back(join_with_spaces(apply_task(letters, options.task)));
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
/// letters.
double bytes_of_pairs(const DataOptions& options) {
  const auto pairs = static_cast<double>(options.train_size + options.valid_size + options.test_size);
  return 2 * pairs * (static_cast<double>(sizeof(std::string)) + 2 * mean_length(options));
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

}  // namespace edgewise
