// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/packed_pairs.h"

#include <utility>

#include "edgewise/base/error.h"

namespace edgewise {

void PackedPairs::add(const TokenPair& pair) {
  for (const auto* side : {&pair.input, &pair.output}) {
    for (const std::int64_t token : *side) {
      check(token >= 0 && std::in_range<std::int32_t>(token), "PackedPairs: token is {}, needs one from 0 to 2^31 - 1",
            token);
      tokens_.push_back(static_cast<std::int32_t>(token));
    }
    ends_.push_back(tokens_.size());
  }
}

// A vector that grows without reserved memory needs up to three times its size for a moment.
void PackedPairs::reserve(double pairs) {
  if (size() == 0) return;
  const double mean = static_cast<double>(tokens_.size()) / static_cast<double>(size());
  tokens_.reserve(static_cast<std::size_t>(pairs * mean * 1.05));
  ends_.reserve(static_cast<std::size_t>(pairs * 2.0));
}

std::vector<std::int64_t> PackedPairs::tokens_of(std::size_t side) const {
  const auto begin = tokens_.begin();
  return {begin + static_cast<std::ptrdiff_t>(begin_of(side)), begin + static_cast<std::ptrdiff_t>(ends_[side])};
}

TokenPair PackedPairs::at(std::size_t number) const { return {tokens_of(2 * number), tokens_of(2 * number + 1)}; }

std::vector<PairLengths> PackedPairs::lengths() const {
  std::vector<PairLengths> lengths;
  lengths.reserve(size());
  for (std::size_t side = 0; side < ends_.size(); side += 2) {
    lengths.push_back({.input = static_cast<std::int64_t>(ends_[side] - begin_of(side)),
                       .output = static_cast<std::int64_t>(ends_[side + 1] - ends_[side]) - 1});
  }
  return lengths;
}

}  // namespace edgewise
