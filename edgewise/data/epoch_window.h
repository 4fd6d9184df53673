// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "edgewise/data/batch_plan.h"
#include "edgewise/data/packed_pairs.h"
#include "edgewise/data/pair_source.h"

namespace edgewise {

/// A part of an epoch whose pairs are in memory together: some blocks, chosen at random.
struct EpochWindow {
  std::int64_t epoch = 0;
  std::int64_t window = 0;       // its number in the epoch
  std::int64_t num_windows = 1;  // of the epoch
  double share = 1.0;            // about how much of the epoch's pairs it has
  std::shared_ptr<const PackedPairs> pairs;
  BatchPlan batches;  // numbers of `pairs`; none where the visits gave no pair
};

/// The visits of each window of an epoch: all in random order, cut into parts of about equal size that have at most
/// `most_pairs` pairs, or one block more; 0: one part. Within a part they are in order of block and copy.
std::vector<std::vector<Visit>> windows_of_epoch(std::vector<Visit> visits, std::int64_t most_pairs, std::uint64_t seed,
                                                 std::int64_t epoch);

/// Reads a window: a function of source, options, seed, epoch and its number. `same_pairs`, if any, are all pairs of
/// the source: where the epoch has one window (one epoch may have more than another), they are not read again.
EpochWindow load_window(const PairSource& source, const BatchOptions& options, std::uint64_t seed, std::int64_t epoch,
                        std::int64_t window, std::shared_ptr<const PackedPairs> same_pairs = nullptr);

}  // namespace edgewise
