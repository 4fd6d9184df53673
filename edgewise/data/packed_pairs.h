// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "edgewise/graph/batch.h"

namespace edgewise {

/// Stores token pairs in 4 bytes per token and 8 bytes per side, about a third of the memory of TokenPair.
class PackedPairs {
 public:
  /// Throws Error for a token that is not from 0 to 2^31 - 1.
  void add(const TokenPair& pair);

  /// Reserves memory for `pairs` pairs in total, at the mean length of the present pairs.
  void reserve(double pairs);

  std::size_t size() const { return ends_.size() / 2; }
  TokenPair at(std::size_t number) const;

  /// Returns the numbers of encoder nodes and decoder nodes of each pair.
  std::vector<PairLengths> lengths() const;

 private:
  std::size_t begin_of(std::size_t side) const { return side == 0 ? 0 : ends_[side - 1]; }
  std::vector<std::int64_t> tokens_of(std::size_t side) const;

  std::vector<std::int32_t> tokens_;
  std::vector<std::size_t> ends_;  // for each pair, the ends of input and output in tokens_
};

}  // namespace edgewise
