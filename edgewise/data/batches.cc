// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/batches.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/random.h"

namespace edgewise {
namespace {

std::int64_t input_length(const TokenPair& pair) { return static_cast<std::int64_t>(pair.input.size()); }
std::int64_t output_length(const TokenPair& pair) { return static_cast<std::int64_t>(pair.output.size()) - 1; }

/// Sums of a batch that grows pair by pair.
class Load {
 public:
  explicit Load(const BatchOptions& options)
      : most_tokens_(options.tokens > 0 ? options.tokens : std::numeric_limits<std::int64_t>::max()),
        most_sentences_(options.sentences > 0 ? options.sentences : std::numeric_limits<std::int64_t>::max()) {}

  bool has_room_for(const TokenPair& pair) const {
    return sentences_ == 0 || (sentences_ < most_sentences_ &&
                               std::max(inputs_ + input_length(pair), outputs_ + output_length(pair)) <= most_tokens_);
  }

  void add(const TokenPair& pair) {
    inputs_ += input_length(pair);
    outputs_ += output_length(pair);
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
std::vector<Numbers> cut(std::span<const TokenPair> pairs, const Numbers& order, const BatchOptions& options) {
  std::vector<Numbers> batches;
  Load load(options);
  for (const std::int64_t number : order) {
    const TokenPair& pair = pairs[static_cast<std::size_t>(number)];
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
Numbers sort_within_buckets(std::span<const TokenPair> pairs, const Numbers& order, const BatchOptions& options) {
  const std::vector<Numbers> batches = cut(pairs, order, options);
  const std::size_t bucket = options.bucket > 0 ? static_cast<std::size_t>(options.bucket) : batches.size();
  const auto lengths = [pairs](std::int64_t number) {
    const TokenPair& pair = pairs[static_cast<std::size_t>(number)];
    return std::pair(output_length(pair), input_length(pair));
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

std::uint64_t fingerprint_of(std::span<const TokenPair> pairs, const BatchOptions& options, std::uint64_t seed) {
  std::uint64_t hash = seed;
  const auto add = [&hash](std::uint64_t value) { hash = mix(hash, value); };
  for (const std::int64_t option : {options.tokens, options.sentences, options.bucket}) {
    add(static_cast<std::uint64_t>(option));
  }
  for (const TokenPair& pair : pairs) {
    for (const auto* side : {&pair.input, &pair.output}) {
      add(side->size());
      for (const std::int64_t token : *side) add(static_cast<std::uint64_t>(token));
    }
  }
  return hash;
}

void check_limits(const char* caller, const BatchOptions& options) {
  check(options.tokens >= 0 && options.sentences >= 0 && options.bucket >= 0,
        "{}: options have {} tokens, {} sentences and a bucket of {}, needs none below 0", caller, options.tokens,
        options.sentences, options.bucket);
  check(options.tokens > 0 || options.sentences > 0,
        "{}: options limit neither tokens nor sentences, needs a limit; set batch.tokens or batch.sentences", caller);
}

void check_pairs(const char* caller, std::span<const TokenPair> pairs) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    check(!pairs[i].input.empty() && pairs[i].output.size() >= 2,
          "{}: pair {} has {} input and {} output tokens, needs at least 1 and 2", caller, i, pairs[i].input.size(),
          pairs[i].output.size());
  }
}

}  // namespace

BatchStream::BatchStream(std::vector<TokenPair> pairs, const BatchOptions& options, std::uint64_t seed)
    : pairs_(std::move(pairs)), options_(options), seed_(seed), fingerprint_(fingerprint_of(pairs_, options, seed)) {
  check_limits("BatchStream", options);
  check(!pairs_.empty(), "BatchStream: pairs are empty, needs at least one");
  check_pairs("BatchStream", pairs_);
  plan_ = plan(0);
}

std::vector<Numbers> BatchStream::plan(std::int64_t epoch) const {
  check(epoch >= 0, "BatchStream::plan: epoch is {}, needs 0 or more", epoch);
  RandomStream random(seed_, static_cast<std::uint64_t>(epoch));
  Numbers order = all_numbers(pairs_.size());
  random.shuffle(order);
  std::vector<Numbers> batches = cut(pairs_, sort_within_buckets(pairs_, order, options_), options_);
  random.shuffle(batches);
  return batches;
}

Batch BatchStream::next() {
  std::vector<TokenPair> members;
  for (const std::int64_t number : plan_[static_cast<std::size_t>(position_.index)]) {
    members.push_back(pairs_[static_cast<std::size_t>(number)]);
  }
  Batch batch = make_batch(pool_, members);
  if (++position_.index == batches_per_epoch()) seek({position_.epoch + 1, 0});
  return batch;
}

void BatchStream::seek(Position position) {
  check(position.epoch >= 0 && position.index >= 0,
        "BatchStream::seek: position is batch {} of epoch {}, needs none below 0", position.index, position.epoch);
  const bool is_other_epoch = position.epoch != position_.epoch;
  std::vector<Numbers> other = is_other_epoch ? plan(position.epoch) : std::vector<Numbers>();
  const std::size_t size = is_other_epoch ? other.size() : plan_.size();
  check(position.index < static_cast<std::int64_t>(size),
        "BatchStream::seek: position is batch {} of epoch {}, needs one below {}, the batches of that epoch",
        position.index, position.epoch, size);
  if (is_other_epoch) plan_ = std::move(other);
  position_ = position;
}

std::vector<Batch> batches_in_order(GraphPool& pool, std::span<const TokenPair> pairs, const BatchOptions& options) {
  check_limits("batches_in_order", options);
  check_pairs("batches_in_order", pairs);
  std::vector<Batch> batches;
  for (const Numbers& numbers : cut(pairs, all_numbers(pairs.size()), options)) {
    batches.push_back(make_batch(pool, pairs.subspan(static_cast<std::size_t>(numbers.front()), numbers.size())));
  }
  return batches;
}

}  // namespace edgewise
