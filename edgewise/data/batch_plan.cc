// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/batch_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

/// Sums of a batch that grows pair by pair.
class Load {
 public:
  explicit Load(const BatchOptions& options)
      : most_tokens_(options.tokens > 0 ? options.tokens : std::numeric_limits<std::int64_t>::max()),
        most_sentences_(options.sentences > 0 ? options.sentences : std::numeric_limits<std::int64_t>::max()) {}

  bool has_room_for(const PairSize& pair) const {
    return sentences_ == 0 ||
           (sentences_ < most_sentences_ && std::max(inputs_ + pair.input, outputs_ + pair.output) <= most_tokens_);
  }

  void add(const PairSize& pair) {
    inputs_ += pair.input;
    outputs_ += pair.output;
    ++sentences_;
  }

  void clear() { inputs_ = outputs_ = sentences_ = 0; }

 private:
  std::int64_t most_tokens_;
  std::int64_t most_sentences_;
  std::int64_t inputs_ = 0;
  std::int64_t outputs_ = 0;
  std::int64_t sentences_ = 0;
};

using Numbers = std::vector<std::int64_t>;

/// Cuts a list of pairs into batches, in its order.
BatchPlan cut(std::span<const PairSize> pairs, const Numbers& order, const BatchOptions& options) {
  BatchPlan batches;
  Load load(options);
  for (const std::int64_t number : order) {
    const PairSize& pair = pairs[static_cast<std::size_t>(number)];
    if (batches.empty() || !load.has_room_for(pair)) {
      batches.emplace_back();
      load.clear();
    }
    batches.back().push_back(number);
    load.add(pair);
  }
  return batches;
}

/// The same, then sorts the pairs of every `options.bucket` batches by length. Pairs of equal length keep their order.
Numbers sort_within_buckets(std::span<const PairSize> pairs, const Numbers& order, const BatchOptions& options) {
  const BatchPlan batches = cut(pairs, order, options);
  const std::size_t bucket = options.bucket > 0 ? static_cast<std::size_t>(options.bucket) : batches.size();
  const auto lengths = [pairs](std::int64_t number) {
    const PairSize& pair = pairs[static_cast<std::size_t>(number)];
    return std::pair(pair.output, pair.input);
  };

  Numbers sorted;
  sorted.reserve(order.size());
  for (std::size_t begin = 0; begin < batches.size(); begin += bucket) {
    const std::size_t end = std::min(begin + bucket, batches.size());
    const auto first = static_cast<std::ptrdiff_t>(sorted.size());
    for (std::size_t i = begin; i < end; ++i) sorted.insert(sorted.end(), batches[i].begin(), batches[i].end());
    std::ranges::stable_sort(sorted.begin() + first, sorted.end(), {}, lengths);
  }
  return sorted;
}

Numbers all_numbers(std::size_t count) {
  Numbers numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace

void check_limits(const char* caller, const BatchOptions& options) {
  check(options.tokens >= 0 && options.sentences >= 0 && options.bucket >= 0 && options.window >= 0,
        "{}: options have {} tokens, {} sentences, a bucket of {} and a window of {}, needs none below 0", caller,
        options.tokens, options.sentences, options.bucket, options.window);
  check(options.tokens > 0 || options.sentences > 0,
        "{}: options limit neither tokens nor sentences, needs a limit; set batch.tokens or batch.sentences", caller);
}

BatchPlan plan_batches(std::span<const PairSize> pairs, const BatchOptions& options, RandomStream random) {
  Numbers order = all_numbers(pairs.size());
  random.shuffle(order);
  BatchPlan batches = cut(pairs, sort_within_buckets(pairs, order, options), options);
  random.shuffle(batches);
  return batches;
}

BatchPlan plan_in_order(std::span<const PairSize> pairs, const BatchOptions& options) {
  return cut(pairs, all_numbers(pairs.size()), options);
}

}  // namespace edgewise
