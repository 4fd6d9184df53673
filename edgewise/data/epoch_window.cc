// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/epoch_window.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/threads.h"

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

double count_pairs(const std::vector<Visit>& visits) {
  double pairs = 0.0;
  for (const Visit& visit : visits) pairs += visit.pairs;
  return pairs;
}

RandomStream stream_of(std::uint64_t seed, std::int64_t epoch, std::int64_t number) {
  return RandomStream(mix(seed, static_cast<std::uint64_t>(epoch)), static_cast<std::uint64_t>(number));
}

/// Reads the pairs of visits: 16 visits at a time, each in one thread.
PackedPairs read_all(const PairSource& source, const std::vector<Visit>& visits, std::uint64_t seed,
                     std::int64_t epoch) {
  constexpr std::size_t kVisitsAtOnce = 16;
  constexpr double kMinPairsPerThread = 1000.0;
  const double pairs_per_visit = std::max(count_pairs(visits) / static_cast<double>(visits.size()), 1.0);
  const auto grain = static_cast<std::int64_t>(std::ceil(kMinPairsPerThread / pairs_per_visit));
  PackedPairs pairs;
  for (std::size_t begin = 0; begin < visits.size(); begin += kVisitsAtOnce) {
    std::vector<std::vector<TokenPair>> parts(std::min(kVisitsAtOnce, visits.size() - begin));
    parallel_for(std::ssize(parts), grain, [&](std::int64_t first, std::int64_t last) {
      for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
        parts[i] = source.read(visits[begin + i], seed, epoch);
      }
    });
    for (const auto& part : parts) {
      for (const TokenPair& pair : part) pairs.add(pair);
    }
    if (begin == 0) pairs.reserve(count_pairs(visits));
  }
  return pairs;
}

/// Puts each pair into one batch, pairs of similar length together, and shuffles the batches. `options.tokens` limits
/// both the inputs and the outputs of a batch. The plan is a function of the arguments. O(pairs · log pairs).
BatchPlan plan_batches(std::span<const PairLengths> pairs, const BatchOptions& options, RandomStream random) {
  PairNumbers order = list_numbers(pairs.size());
  random.shuffle(order);
  BatchPlan batches = cut_into_batches(pairs, sort_within_buckets(pairs, order, options), options);
  random.shuffle(batches);
  return batches;
}

}  // namespace

void check_batch_options(const char* caller, const BatchOptions& options) {
  check(options.tokens >= 0 && options.sentences >= 0 && options.bucket >= 0 && options.window >= 0,
        "{}: options have {} tokens, {} sentences, a bucket of {} and a window of {}, needs none below 0", caller,
        options.tokens, options.sentences, options.bucket, options.window);
  check(options.tokens > 0 || options.sentences > 0,
        "{}: options limit neither tokens nor sentences, needs a limit; set batch.tokens or batch.sentences", caller);
}

BatchPlan plan_in_order(std::span<const PairLengths> pairs, const BatchOptions& options) {
  return cut_into_batches(pairs, list_numbers(pairs.size()), options);
}

void PackedPairs::add(const TokenPair& pair) {
  for (const auto* side : {&pair.input, &pair.output}) {
    for (const std::int64_t token : *side) {
      check(token >= 0 && std::in_range<std::int32_t>(token), "PackedPairs: token is {}, needs one from 0 to 2^31 - 1",
            token);
      tokens_.push_back(static_cast<std::int32_t>(token));
    }
    ends_.push_back(tokens_.size());
  }
  if (!link_ends_.empty() || !pair.links.empty()) add_links(pair.links);
}

void PackedPairs::add_links(const std::vector<NodeLink>& links) {
  link_ends_.resize(size() - 1, 0);  // the pairs before the first links
  for (const auto& [encoder, decoder] : links) {
    links_.push_back({static_cast<std::int32_t>(encoder), static_cast<std::int32_t>(decoder)});
  }
  link_ends_.push_back(links_.size());
}

std::vector<NodeLink> PackedPairs::links_of(std::size_t number) const {
  std::vector<NodeLink> links;
  if (link_ends_.empty()) return links;
  for (std::size_t i = number == 0 ? 0 : link_ends_[number - 1]; i < link_ends_[number]; ++i) {
    links.push_back({links_[i].encoder, links_[i].decoder});
  }
  return links;
}

/// A vector that grows without reserved memory needs up to three times its size for a moment.
void PackedPairs::reserve(double pairs) {
  if (size() == 0) return;
  const double mean = static_cast<double>(tokens_.size()) / static_cast<double>(size());
  tokens_.reserve(static_cast<std::size_t>(pairs * mean * 1.05));
  ends_.reserve(static_cast<std::size_t>(pairs * 2.0));
}

std::vector<std::int64_t> PackedPairs::tokens_of(std::size_t side) const {
  const auto begin = tokens_.begin();
  return {begin + static_cast<std::ptrdiff_t>(begin_of(side)), begin + static_cast<std::ptrdiff_t>(ends_[side])};
}

std::vector<PairLengths> PackedPairs::lengths() const {
  std::vector<PairLengths> lengths;
  lengths.reserve(size());
  for (std::size_t side = 0; side < ends_.size(); side += 2) {
    lengths.push_back({.input = static_cast<std::int64_t>(ends_[side] - begin_of(side)),
                       .output = static_cast<std::int64_t>(ends_[side + 1] - ends_[side]) - 1});
  }
  return lengths;
}

std::vector<std::vector<Visit>> split_epoch(std::vector<Visit> visits, std::int64_t max_pairs, std::uint64_t seed,
                                            std::int64_t epoch) {
  stream_of(seed, epoch, 0).shuffle(visits);
  const double all = count_pairs(visits);
  const double count = max_pairs > 0 ? std::max(std::ceil(all / static_cast<double>(max_pairs)), 1.0) : 1.0;
  std::vector<std::vector<Visit>> windows(1);
  double done = 0.0;
  for (const Visit& visit : visits) {
    if (done >= all / count * static_cast<double>(windows.size())) windows.emplace_back();
    windows.back().push_back(visit);
    done += visit.pairs;
  }
  for (auto& window : windows) {
    std::ranges::sort(window, {}, [](const Visit& visit) { return std::tuple(visit.block, visit.copy, visit.part); });
  }
  return windows;
}

EpochWindow load_window(const PairSource& source, const BatchOptions& options, std::uint64_t seed, std::int64_t epoch,
                        std::int64_t window, std::shared_ptr<const PackedPairs> all_pairs) {
  const std::vector<Visit> visits = source.visits();
  const auto windows = split_epoch(visits, options.window, seed, epoch);
  check(window >= 0 && window < std::ssize(windows), "load_window: window is {}, needs one below {}, those of epoch {}",
        window, windows.size(), epoch);
  const std::vector<Visit>& chosen = windows[static_cast<std::size_t>(window)];
  EpochWindow loaded{.epoch = epoch,
                     .window = window,
                     .num_windows = std::ssize(windows),
                     .share = count_pairs(chosen) / count_pairs(visits),
                     .pairs = windows.size() == 1 ? std::move(all_pairs) : nullptr,
                     .batches = {}};
  if (loaded.pairs == nullptr) loaded.pairs = std::make_shared<PackedPairs>(read_all(source, chosen, seed, epoch));
  loaded.batches = plan_batches(loaded.pairs->lengths(), options, stream_of(seed, epoch, 1 + window));
  return loaded;
}

}  // namespace edgewise
