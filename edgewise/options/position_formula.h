// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "edgewise/options/layer_kinds.h"

// Position vectors (positional encodings): the sine in even dimensions j, the cosine in odd dimensions j, of the angle
// that follows; `size` is the number of dimensions.
//
//     sinusoidal:    position / 10000^((j - j mod 2) / size), as in Vaswani et al. 2017
//     from_scratch:  position / 10000^(2 j / size), as in the from-scratch note (docs/sources.md)

namespace edgewise {

/// Returns, for each dimension, the factor by which a position is multiplied to get the angle. The factors are double,
/// because a large angle in float has few exact digits after the decimal point.
inline std::vector<double> position_frequencies(std::int64_t size, PositionKind kind) {
  std::vector<double> frequencies;
  for (std::int64_t j = 0; j < size; ++j) {
    const std::int64_t exponent = kind == PositionKind::kSinusoidal ? j - j % 2 : 2 * j;
    frequencies.push_back(std::pow(10000.0, -static_cast<double>(exponent) / static_cast<double>(size)));
  }
  return frequencies;
}

/// Writes the vector of a position to `to`, which has as many elements as `frequencies`.
template <typename T>
void write_position(std::int64_t position, const std::vector<double>& frequencies, T* to) {
  for (std::size_t j = 0; j < frequencies.size(); ++j) {
    const double angle = static_cast<double>(position) * frequencies[j];
    to[j] = static_cast<T>(j % 2 == 0 ? std::sin(angle) : std::cos(angle));
  }
}

}  // namespace edgewise
