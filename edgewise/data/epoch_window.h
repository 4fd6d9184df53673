// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "edgewise/data/batch_plan.h"
#include "edgewise/data/packed_pairs.h"
#include "edgewise/data/pair_source.h"

namespace edgewise {

/// A part of an epoch whose pairs are in memory together: randomly chosen visits of blocks.
struct EpochWindow {
  std::int64_t epoch = 0;
  std::int64_t window = 0;       // number of this window in the epoch
  std::int64_t num_windows = 1;  // windows of the epoch
  double share = 1.0;            // expected share of the epoch's pairs
  std::shared_ptr<const PackedPairs> pairs;
  BatchPlan batches;  // batches by the numbers of `pairs`; empty if the visits have no pair
};

/// Shuffles the visits of an epoch and cuts them into windows of about equal size. A window has at most `max_pairs`
/// pairs plus one block; 0 gives one window. Visits within a window are in order of block and copy.
std::vector<std::vector<Visit>> split_epoch(std::vector<Visit> visits, std::int64_t max_pairs, std::uint64_t seed,
                                            std::int64_t epoch);

/// Reads a window and plans its batches: a function of (source, options, seed, epoch, window). `all_pairs`, unless
/// null, holds all pairs of the source, which are then not read again if the epoch has one window.
EpochWindow load_window(const PairSource& source, const BatchOptions& options, std::uint64_t seed, std::int64_t epoch,
                        std::int64_t window, std::shared_ptr<const PackedPairs> all_pairs = nullptr);

}  // namespace edgewise
