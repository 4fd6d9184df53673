// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/random.h"
#include "edgewise/base/stop_request.h"
#include "edgewise/data/epoch_window.h"
#include "edgewise/data/pair_source.h"
#include "edgewise/graph/batch.h"
#include "edgewise/options/data_options.h"

namespace edgewise {

/// A position in a BatchStream: `index` batches of `epoch` are done, `window_begin` of them in windows before `window`.
struct BatchPosition {
  std::int64_t epoch = 0;
  std::int64_t index = 0;
  std::int64_t window = 0;
  std::int64_t window_begin = 0;

  bool operator==(const BatchPosition&) const = default;
};

/// A source has no pair in as many epochs as are needed to visit a pair of the smallest weight.
class NoPairsError : public Error {
 public:
  using Error::Error;
};

/// An endless sequence of training batches. An epoch has every pair as often as the source visits the pair, with pairs
/// of similar length together and batches in random order. An epoch of more than `options.window` pairs is read window
/// by window: a window holds randomly chosen blocks, and a thread reads the next window while the present one is in
/// use. The batches of an epoch are a function of (source, options, seed, epoch), so a stopped run can continue by
/// seek(), which reads one window. Not thread-safe.
class BatchStream {
 public:
  /// Throws NoPairsError for a source without pairs, and Error for options that limit neither tokens nor sentences.
  BatchStream(std::shared_ptr<const PairSource> source, const BatchOptions& options, std::uint64_t seed);

  /// Reads pairs in memory; throws Error as PairsInMemory does.
  BatchStream(std::vector<TokenPair> pairs, const BatchOptions& options, std::uint64_t seed);

  /// Returns the batch at position() and advances the position, after the last batch of an epoch to the next epoch.
  Batch next();
  BatchPosition position() const { return position_; }

  /// Continues at a position. Throws Error for a position outside of its epoch or window.
  void seek(BatchPosition position);

  /// Returns the number of batches of the present epoch, which differs a little between epochs. Where an epoch has
  /// several windows, the number is an estimate from the present window.
  std::int64_t batches_per_epoch() const;

  /// Returns the pairs of each batch of a window, numbered in the order in which the source returns them. Reads the
  /// window from the source, so that it may be called while another thread uses the stream.
  BatchPlan plan(std::int64_t epoch, std::int64_t window = 0) const;

  /// Returns the size of the present window's batch with the highest cost.
  BatchTokens largest_batch(const std::function<double(const BatchTokens&)>& cost) const;

 private:
  /// Returns whether the pairs of window_ are all pairs of every epoch.
  bool has_all_pairs() const { return window_.num_windows == 1 && source_->is_same_every_epoch(); }
  EpochWindow load(std::int64_t epoch, std::int64_t window) const;
  void prefetch_window();
  EpochWindow take_window(std::int64_t epoch, std::int64_t window);
  void advance_window(std::int64_t done);

  std::shared_ptr<const PairSource> source_;
  BatchOptions options_;
  std::uint64_t seed_;
  BatchPosition position_;
  EpochWindow window_;  // the window of position_
  std::future<EpochWindow> next_window_;
};

/// Returns a hash of the pairs, options and seed of a stream: a position is valid only in a stream with an equal hash.
std::uint64_t batches_fingerprint(const PairSource& source, const BatchOptions& options, std::uint64_t seed);

/// Returns the size of each batch of batches_in_order.
std::vector<BatchTokens> sizes_in_order(std::span<const TokenPair> pairs, const BatchOptions& options);

/// Cuts all pairs into batches in their order, for validation; ignores `options.bucket` and `options.window`. Throws
/// StopException if `stop` is set before the end.
std::vector<Batch> batches_in_order(std::span<const TokenPair> pairs, const BatchOptions& options,
                                    const StopRequest* stop = nullptr);

}  // namespace edgewise
