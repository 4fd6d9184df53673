// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <span>
#include <vector>

#include "edgewise/data/epoch_window.h"
#include "edgewise/data/pair_source.h"
#include "edgewise/graph/batch.h"
#include "edgewise/options/batch_options.h"

namespace edgewise {

/// Where a BatchStream is: `index` batches of epoch `epoch` are behind it, `window_begin` of them in windows before
/// that in which it is.
struct Position {
  std::int64_t epoch = 0;
  std::int64_t index = 0;
  std::int64_t window = 0;
  std::int64_t window_begin = 0;

  bool operator==(const Position&) const = default;
};

/// Endless batches for training: each pair as often as its source says an epoch, pairs of like length together, batches
/// in random order. Of a source with more pairs than `options.window`, blocks in random order are read into memory in
/// so many windows, the next one while the one before is in use. What an epoch's batches are is a function of (source,
/// options, seed, epoch) alone, so a run can stop anywhere and `seek` to its position later, which costs reading one
/// window. Not for several threads at once.
class BatchStream {
 public:
  /// Throws Error for a source without pairs, and for options that limit neither tokens nor sentences.
  BatchStream(std::shared_ptr<const PairSource> source, const BatchOptions& options, std::uint64_t seed);

  /// Of pairs in memory; throws Error as PairsInMemory does.
  BatchStream(std::vector<TokenPair> pairs, const BatchOptions& options, std::uint64_t seed);

  /// The batch at `position()`, which then moves on; after an epoch's last batch to the next epoch's first.
  Batch next();

  Position position() const { return position_; }

  /// Throws Error for a position that the stream never has.
  void seek(Position position);

  /// Differs a little from epoch to epoch. This is the one of `position()`; an estimate from the present window where
  /// an epoch has several.
  std::int64_t batches_per_epoch() const;

  /// The numbers of the pairs in each batch of a window of an epoch, counted as they come from the source.
  BatchPlan plan(std::int64_t epoch, std::int64_t window = 0) const;

  /// Differs when pairs, options or seed do: a position is worth nothing in another stream.
  std::uint64_t fingerprint() const { return fingerprint_; }

 private:
  EpochWindow load(std::int64_t epoch, std::int64_t window) const;
  bool keeps_pairs() const;
  void load_ahead();
  EpochWindow take(std::int64_t epoch, std::int64_t window);
  void move_on(std::int64_t done);

  std::shared_ptr<const PairSource> source_;
  BatchOptions options_;
  std::uint64_t seed_;
  std::uint64_t fingerprint_;
  Position position_;
  EpochWindow window_;              // of position_
  std::future<EpochWindow> ahead_;  // the one behind it
  GraphPool pool_;
};

/// All pairs in their order, for validation: `options.bucket` and `options.window` count for nothing.
std::vector<Batch> batches_in_order(GraphPool& pool, std::span<const TokenPair> pairs, const BatchOptions& options);

}  // namespace edgewise
