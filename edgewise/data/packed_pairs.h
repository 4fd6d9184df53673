// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "edgewise/data/batch_plan.h"
#include "edgewise/graph/batch.h"

namespace edgewise {

/// Many pairs in little memory: four bytes a token and eight a side, where TokenPair takes three times as much.
class PackedPairs {
 public:
  /// Throws Error for a token that is not from 0 to 2^31 - 1.
  void add(const TokenPair& pair);

  /// Makes room for so many pairs in all, of the mean size of those that it has.
  void make_room(double pairs);

  std::size_t size() const { return ends_.size() / 2; }
  TokenPair at(std::size_t number) const;

  /// Of all pairs.
  std::vector<PairSize> sizes() const;

 private:
  std::size_t begin_of(std::size_t side) const { return side == 0 ? 0 : ends_[side - 1]; }
  std::vector<std::int64_t> tokens_of(std::size_t side) const;

  std::vector<std::int32_t> tokens_;
  std::vector<std::size_t> ends_;  // in tokens_, of each pair's input and output
};

}  // namespace edgewise
