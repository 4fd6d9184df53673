// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/data/pair_source.h"
#include "tests/train/next_token_task.h"

namespace edgewise {

/// The pairs of NextTokenTask, of which each epoch has several windows. While `is_changed`, only the first window can
/// be read, as if a file of the corpus was changed on the disk.
class ChangingPairs : public PairSource {
 public:
  /// Options with which the first window has four batches. Its last batch cannot be read without the next window.
  static constexpr BatchOptions batch_options() { return {.tokens = 0, .sentences = 2, .bucket = 0, .window = 10}; }

  std::vector<Visit> visits() const override { return pairs_.visits(); }
  std::vector<TokenPair> read(const Visit& visit, std::uint64_t seed, std::int64_t epoch) const override {
    check(!is_changed || ++num_reads_ <= kBlocksOfAWindow, "train: the corpus was changed");
    return pairs_.read(visit, seed, epoch);
  }
  bool is_same_every_epoch() const override { return true; }
  std::uint64_t fingerprint() const override { return pairs_.fingerprint(); }

  bool is_changed = false;

 private:
  static constexpr int kBlocksOfAWindow = 2;

  PairsInMemory pairs_{NextTokenTask::pairs(), /*block_size=*/5};
  mutable std::atomic<int> num_reads_ = 0;
};

}  // namespace edgewise
