// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "edgewise/base/random.h"

namespace edgewise::kernels {

/// Returns normally distributed numbers of type T: float, double or BFloat16.
template <typename T>
std::vector<T> normal_numbers(std::int64_t count, std::uint64_t seed) {
  RandomStream random(seed);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = static_cast<T>(static_cast<float>(random.normal()));
  return values;
}

/// Returns random numbers of [0, bound).
template <typename T>
std::vector<T> random_indices(std::int64_t count, std::int64_t bound, std::uint64_t seed) {
  RandomStream random(seed);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = static_cast<T>(random.next_below(static_cast<std::uint64_t>(bound)));
  return values;
}

template <typename T>
bool has_same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace edgewise::kernels
