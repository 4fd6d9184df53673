// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "edgewise/options/layer_kinds.h"

// Fixed vectors that tell a model where in its sentence a word stands: sine in even dimensions j, cosine in odd ones,
// of
//
//     sinusoidal     position / 10000^((j - j mod 2) / size)   (Vaswani et al. 2017: both of a pair share a frequency)
//     from_scratch   position / 10000^(2 j / size)             (as the from-scratch document's code has it)

namespace edgewise {

/// What a position is multiplied by in each dimension. In double: the angle of a late position has few exact digits in
/// float.
inline std::vector<double> position_frequencies(std::int64_t size, PositionKind kind) {
  std::vector<double> frequencies;
  for (std::int64_t j = 0; j < size; ++j) {
    const std::int64_t exponent = kind == PositionKind::kSinusoidal ? j - j % 2 : 2 * j;
    frequencies.push_back(std::pow(10000.0, -static_cast<double>(exponent) / static_cast<double>(size)));
  }
  return frequencies;
}

/// Writes the vector of a position.
template <typename T>
void write_position(std::int64_t position, const std::vector<double>& frequencies, T* to) {
  for (std::size_t j = 0; j < frequencies.size(); ++j) {
    const double angle = static_cast<double>(position) * frequencies[j];
    to[j] = static_cast<T>(j % 2 == 0 ? std::sin(angle) : std::cos(angle));
  }
}

}  // namespace edgewise
