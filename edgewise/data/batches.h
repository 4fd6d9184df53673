// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/graph/batch.h"
#include "edgewise/options/batch_options.h"

namespace edgewise {

/// Where a BatchStream is: `index` batches of epoch `epoch` are behind it.
struct Position {
  std::int64_t epoch = 0;
  std::int64_t index = 0;

  bool operator==(const Position&) const = default;
};

/// Endless batches for training: each pair exactly once an epoch, pairs of like length together, batches in random
/// order. What an epoch's batches are is a function of (pairs, options, seed, epoch) alone, so a run can stop anywhere
/// and `seek` to its position later. Not for several threads at once.
class BatchStream {
 public:
  /// Throws Error for no pairs, a pair that no model can learn from (an empty input, an output of fewer than two
  /// tokens), and options that limit neither tokens nor sentences.
  BatchStream(std::vector<TokenPair> pairs, const BatchOptions& options, std::uint64_t seed);

  /// The batch at `position()`, which then moves on; after an epoch's last batch to the next epoch's first.
  Batch next();

  Position position() const { return position_; }

  /// Throws Error for a position that the stream never has.
  void seek(Position position);

  /// Differs a little from epoch to epoch. This is the one of `position()`.
  std::int64_t batches_per_epoch() const { return static_cast<std::int64_t>(plan_.size()); }

  /// The numbers of the pairs in each batch of an epoch. O(pairs · log pairs).
  std::vector<std::vector<std::int64_t>> plan(std::int64_t epoch) const;

  std::span<const TokenPair> pairs() const { return pairs_; }

  /// Differs when pairs, options or seed do: a position is worth nothing in another stream.
  std::uint64_t fingerprint() const { return fingerprint_; }

 private:
  std::vector<TokenPair> pairs_;
  BatchOptions options_;
  std::uint64_t seed_;
  std::uint64_t fingerprint_;
  Position position_;
  std::vector<std::vector<std::int64_t>> plan_;  // of position_.epoch
  GraphPool pool_;
};

/// All pairs in their order, for validation: `options.bucket` counts for nothing.
std::vector<Batch> batches_in_order(GraphPool& pool, std::span<const TokenPair> pairs, const BatchOptions& options);

}  // namespace edgewise
