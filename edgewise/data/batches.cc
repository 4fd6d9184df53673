// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "edgewise/base/background.h"
#include "edgewise/base/threads.h"
#include "edgewise/data/random_positions.h"

namespace edgewise {
namespace {

// A pair of a corpus with the smallest allowed weight, 0.001, occurs at least once in this many epochs.
constexpr std::int64_t kMaxEpochsWithoutPairs = 1001;

/// Returns epoch and number of the window after `window`.
std::pair<std::int64_t, std::int64_t> next_window_of(const EpochWindow& window) {
  const bool is_last = window.window + 1 == window.num_windows;
  return is_last ? std::pair(window.epoch + 1, std::int64_t{0}) : std::pair(window.epoch, window.window + 1);
}

std::vector<BatchTokens> sizes_of(const BatchPlan& batches, std::span<const PairLengths> lengths) {
  std::vector<BatchTokens> sizes;
  for (const std::vector<std::int64_t>& batch : batches) {
    BatchTokens& size = sizes.emplace_back();
    for (const std::int64_t number : batch) {
      const PairLengths& pair = lengths[static_cast<std::size_t>(number)];
      size.add_pair(pair.input, pair.output);
    }
  }
  return sizes;
}

std::vector<PairLengths> lengths_of(std::span<const TokenPair> pairs) {
  std::vector<PairLengths> lengths;
  for (const TokenPair& pair : pairs) lengths.push_back({std::ssize(pair.input), std::ssize(pair.output) - 1});
  return lengths;
}

}  // namespace

BatchStream::BatchStream(std::shared_ptr<const PairSource> source, const BatchOptions& options, std::uint64_t seed)
    : source_(std::move(source)), options_(options), seed_(seed) {
  check_batch_options("BatchStream", options);
  window_ = load(0, 0);
  if (window_.batches.empty()) advance_window(0);
}

BatchStream::BatchStream(std::vector<TokenPair> pairs, const BatchOptions& options, std::uint64_t seed)
    : BatchStream(std::make_shared<PairsInMemory>(std::move(pairs)), options, seed) {}

EpochWindow BatchStream::load(std::int64_t epoch, std::int64_t window) const {
  return load_window(*source_, options_, seed_, epoch, window, has_all_pairs() ? window_.pairs : nullptr);
}

void BatchStream::prefetch_window() {
  if (has_all_pairs() || next_window_.valid()) return;
  next_window_ =
      run_in_background([source = source_, options = options_, seed = seed_, next = next_window_of(window_)] {
        const NumThreadsScope one_thread(1);  // the other threads compute with the present window
        return load_window(*source, options, seed, next.first, next.second);
      });
}

EpochWindow BatchStream::take_window(std::int64_t epoch, std::int64_t window) {
  if (next_window_.valid()) {
    EpochWindow loaded = next_window_.get();
    if (loaded.epoch == epoch && loaded.window == window) return loaded;
  }
  return load(epoch, window);
}

/// Moves to the next window that has a batch, after `done` batches of the epoch.
void BatchStream::advance_window(std::int64_t done) {
  const std::int64_t last_epoch = position_.epoch + kMaxEpochsWithoutPairs;
  auto [epoch, window] = next_window_of(window_);
  EpochWindow next = take_window(epoch, window);
  while (next.batches.empty()) {
    std::tie(epoch, window) = next_window_of(next);
    if (epoch > last_epoch) {
      throw NoPairsError(
          fmt::format("BatchStream: the source has no pair in {} epochs, needs at least one", kMaxEpochsWithoutPairs));
    }
    next = load(epoch, window);
  }
  const std::int64_t done_of_epoch = epoch == position_.epoch ? done : 0;
  window_ = std::move(next);
  position_ = {.epoch = epoch, .index = done_of_epoch, .window = window, .window_begin = done_of_epoch};
}

BatchPlan BatchStream::plan(std::int64_t epoch, std::int64_t window) const {
  check(epoch >= 0, "BatchStream::plan: epoch is {}, needs 0 or more", epoch);
  return load_window(*source_, options_, seed_, epoch, window).batches;
}

std::int64_t BatchStream::batches_per_epoch() const {
  return std::llround(static_cast<double>(window_.batches.size()) / window_.share);
}

BatchTokens BatchStream::largest_batch(const std::function<double(const BatchTokens&)>& cost) const {
  const std::vector<PairLengths> lengths = window_.pairs->lengths();
  return std::ranges::max(sizes_of(window_.batches, lengths), {}, cost);
}

Batch BatchStream::next() {
  prefetch_window();
  std::vector<TokenPair> pairs;
  for (const std::int64_t number :
       window_.batches[static_cast<std::size_t>(position_.index - position_.window_begin)]) {
    pairs.push_back(window_.pairs->at(static_cast<std::size_t>(number)));
  }
  Batch batch = make_batch(pairs);
  constexpr std::uint64_t kSalt = 0xBA7C;  // another seed than that of the streams that order an epoch
  RandomStream random(mix(mix(seed_, kSalt), static_cast<std::uint64_t>(position_.epoch)),
                      static_cast<std::uint64_t>(position_.index));
  draw_positions(batch, options_, random);
  const std::int64_t done = position_.index + 1;
  if (done - position_.window_begin == std::ssize(window_.batches)) {
    advance_window(done);
  } else {
    position_.index = done;
  }
  return batch;
}

void BatchStream::seek(BatchPosition position) {
  const std::int64_t inside = position.index - position.window_begin;
  check(position.epoch >= 0 && position.window >= 0 && position.window_begin >= 0 && position.index >= 0,
        "BatchStream::seek: position is batch {} of epoch {}, needs none below 0", position.index, position.epoch);
  const bool is_other = position.epoch != window_.epoch || position.window != window_.window;
  EpochWindow other = is_other ? load(position.epoch, position.window) : EpochWindow();
  const std::int64_t size = is_other ? std::ssize(other.batches) : std::ssize(window_.batches);
  check(inside >= 0 && inside < size && (position.window > 0 || position.window_begin == 0),
        "BatchStream::seek: position is batch {} of epoch {}, needs one below {}, the batches of that {}",
        position.index, position.epoch, position.window_begin + size, position.window == 0 ? "epoch" : "window");
  if (is_other) {
    next_window_ = {};
    window_ = std::move(other);
  }
  position_ = position;
}

std::uint64_t batches_fingerprint(const PairSource& source, const BatchOptions& options, std::uint64_t seed) {
  std::uint64_t hash = mix(seed, source.fingerprint());
  for (const std::int64_t option : {options.tokens, options.sentences, options.bucket, options.window,
                                    static_cast<std::int64_t>(options.positions), options.positions_below}) {
    hash = mix(hash, static_cast<std::uint64_t>(option));
  }
  return hash;
}

std::vector<BatchTokens> sizes_in_order(std::span<const TokenPair> pairs, const BatchOptions& options) {
  const std::vector<PairLengths> lengths = lengths_of(pairs);
  return sizes_of(plan_in_order(lengths, options), lengths);
}

std::vector<Batch> batches_in_order(std::span<const TokenPair> pairs, const BatchOptions& options,
                                    const StopRequest* stop) {
  check_batch_options("batches_in_order", options);
  check_pairs("batches_in_order", pairs);
  std::vector<Batch> batches;
  for (const auto& numbers : plan_in_order(lengths_of(pairs), options)) {
    throw_if_set(stop);
    batches.push_back(make_batch(pairs.subspan(static_cast<std::size_t>(numbers.front()), numbers.size())));
  }
  return batches;
}

}  // namespace edgewise
