// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/batch_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

/// The size of a batch that grows pair by pair.
class BatchSize {
 public:
  explicit BatchSize(const BatchOptions& options)
      : max_tokens_(options.tokens > 0 ? options.tokens : std::numeric_limits<std::int64_t>::max()),
        max_sentences_(options.sentences > 0 ? options.sentences : std::numeric_limits<std::int64_t>::max()) {}

  bool can_add(const PairLengths& pair) const {
    return sentences_ == 0 ||
           (sentences_ < max_sentences_ && std::max(inputs_ + pair.input, outputs_ + pair.output) <= max_tokens_);
  }

  void add(const PairLengths& pair) {
    inputs_ += pair.input;
    outputs_ += pair.output;
    ++sentences_;
  }

 private:
  std::int64_t max_tokens_;
  std::int64_t max_sentences_;
  std::int64_t inputs_ = 0;
  std::int64_t outputs_ = 0;
  std::int64_t sentences_ = 0;
};

using PairNumbers = std::vector<std::int64_t>;

/// Cuts pairs into batches in the given order.
BatchPlan cut_into_batches(std::span<const PairLengths> pairs, const PairNumbers& order, const BatchOptions& options) {
  BatchPlan batches;
  BatchSize size(options);
  for (const std::int64_t number : order) {
    const PairLengths& pair = pairs[static_cast<std::size_t>(number)];
    if (batches.empty() || !size.can_add(pair)) {
      batches.emplace_back();
      size = BatchSize(options);
    }
    batches.back().push_back(number);
    size.add(pair);
  }
  return batches;
}

/// Sorts the pairs of every `options.bucket` batches of `order` by length. Pairs of equal length keep their order.
PairNumbers sort_within_buckets(std::span<const PairLengths> pairs, const PairNumbers& order,
                                const BatchOptions& options) {
  const BatchPlan batches = cut_into_batches(pairs, order, options);
  const std::size_t bucket = options.bucket > 0 ? static_cast<std::size_t>(options.bucket) : batches.size();
  const auto lengths = [pairs](std::int64_t number) {
    const PairLengths& pair = pairs[static_cast<std::size_t>(number)];
    return std::pair(pair.output, pair.input);
  };

  PairNumbers sorted;
  sorted.reserve(order.size());
  for (std::size_t begin = 0; begin < batches.size(); begin += bucket) {
    const std::size_t end = std::min(begin + bucket, batches.size());
    const auto first = static_cast<std::ptrdiff_t>(sorted.size());
    for (std::size_t i = begin; i < end; ++i) sorted.insert(sorted.end(), batches[i].begin(), batches[i].end());
    std::ranges::stable_sort(sorted.begin() + first, sorted.end(), {}, lengths);
  }
  return sorted;
}

PairNumbers list_numbers(std::size_t count) {
  PairNumbers numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace

void check_batch_options(const char* caller, const BatchOptions& options) {
  check(options.tokens >= 0 && options.sentences >= 0 && options.bucket >= 0 && options.window >= 0,
        "{}: options have {} tokens, {} sentences, a bucket of {} and a window of {}, needs none below 0", caller,
        options.tokens, options.sentences, options.bucket, options.window);
  check(options.tokens > 0 || options.sentences > 0,
        "{}: options limit neither tokens nor sentences, needs a limit; set batch.tokens or batch.sentences", caller);
}

BatchPlan plan_batches(std::span<const PairLengths> pairs, const BatchOptions& options, RandomStream random) {
  PairNumbers order = list_numbers(pairs.size());
  random.shuffle(order);
  BatchPlan batches = cut_into_batches(pairs, sort_within_buckets(pairs, order, options), options);
  random.shuffle(batches);
  return batches;
}

BatchPlan plan_in_order(std::span<const PairLengths> pairs, const BatchOptions& options) {
  return cut_into_batches(pairs, list_numbers(pairs.size()), options);
}

}  // namespace edgewise
