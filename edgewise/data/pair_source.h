// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/graph/batch.h"

namespace edgewise {

/// One time that an epoch goes through a block of pairs.
struct Visit {
  std::int64_t block = 0;
  std::int64_t copy = 0;  // 0 for the epoch's first time
  double pairs = 0.0;     // about how many it gives

  bool operator==(const Visit&) const = default;
};

/// Training pairs as tokens, in blocks that can be read in any order, by several threads at once.
class PairSource {
 public:
  virtual ~PairSource() = default;

  /// What makes an epoch, the same for each, in order of block and copy.
  virtual std::vector<Visit> visits() const = 0;

  /// The pairs of a visit in the epochs of a seed: a function of these. May be fewer than it says, or none.
  virtual std::vector<TokenPair> read(const Visit& visit, std::uint64_t seed, std::int64_t epoch) const = 0;

  /// Whether each epoch has the same pairs as the others.
  virtual bool is_same_every_epoch() const = 0;

  /// Differs when what it gives does.
  virtual std::uint64_t fingerprint() const = 0;
};

/// Pairs that are in memory.
class PairsInMemory final : public PairSource {
 public:
  /// Throws Error for no pairs and for one that no model can learn from (an empty input, an output of fewer than two
  /// tokens).
  explicit PairsInMemory(std::vector<TokenPair> pairs, std::int64_t block_size = 1024);

  std::vector<Visit> visits() const override;
  std::vector<TokenPair> read(const Visit& visit, std::uint64_t seed, std::int64_t epoch) const override;
  bool is_same_every_epoch() const override { return true; }
  std::uint64_t fingerprint() const override;

 private:
  std::vector<TokenPair> pairs_;
  std::int64_t block_size_;
};

/// Throws Error, beginning with `caller`, as PairsInMemory does.
void check_pairs(const char* caller, std::span<const TokenPair> pairs);

}  // namespace edgewise
