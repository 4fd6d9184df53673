// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/data/pair_source.h"
#include "edgewise/graph/batch.h"
#include "edgewise/options/data_options.h"

namespace edgewise {

/// Lists the pairs of each batch by their numbers.
using BatchPlan = std::vector<std::vector<std::int64_t>>;

/// Throws Error, beginning with `caller`, for negative options and for options without a limit of tokens or sentences.
void check_batch_options(const char* caller, const BatchOptions& options);

/// Puts each pair into one batch and keeps the order of the pairs.
BatchPlan plan_in_order(std::span<const PairLengths> pairs, const BatchOptions& options);

/// Stores token pairs in 4 bytes per token and 8 bytes per side, about a third of the memory of TokenPair; links take 8
/// bytes each, and 8 bytes per pair.
class PackedPairs {
 public:
  /// Throws Error for a token that is not from 0 to 2^31 - 1.
  void add(const TokenPair& pair);

  /// Reserves memory for `pairs` pairs in total, at the mean length of the present pairs.
  void reserve(double pairs);

  std::size_t size() const { return ends_.size() / 2; }
  TokenPair at(std::size_t number) const {
    return {tokens_of(2 * number), tokens_of(2 * number + 1), links_of(number)};
  }

  /// Returns the numbers of encoder nodes and decoder nodes of each pair.
  std::vector<PairLengths> lengths() const;

 private:
  std::size_t begin_of(std::size_t side) const { return side == 0 ? 0 : ends_[side - 1]; }
  std::vector<std::int64_t> tokens_of(std::size_t side) const;
  std::vector<NodeLink> links_of(std::size_t number) const;
  void add_links(const std::vector<NodeLink>& links);

  std::vector<std::int32_t> tokens_;
  std::vector<std::size_t> ends_;  // for each pair, the ends of input and output in tokens_

  struct PackedLink {
    std::int32_t encoder, decoder;
  };
  std::vector<PackedLink> links_;
  std::vector<std::size_t> link_ends_;  // the end of each pair's links in links_; empty if no pair has links
};

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
