// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "edgewise/kernels/simd/aligned_bytes.h"

// What flows between products, in memory that a step finds where the one before it left it. T is what products read:
// float, BFloat16 or std::int8_t.

namespace edgewise {

template <typename T>
inline constexpr bool kIsInt8 = std::is_same_v<T, std::int8_t>;

/// Rows that a product reads.
template <typename T>
struct Activations {
  T* values;                // [R, N]
  float* scales = nullptr;  // [R], for std::int8_t
};

/// Rows of products that lie in memory may be read and written this far behind the last, so that they need no copies.
inline constexpr std::int64_t kSpareRows = 15;

/// Rooms that grow to the largest step and are kept.
template <typename T>
class ActivationRoom {
 public:
  Activations<T> of(std::int64_t rows, std::int64_t columns) {
    Activations<T> room = {values_.elements<T>((rows + kSpareRows) * columns)};
    if constexpr (kIsInt8<T>) room.scales = scales_.elements<float>(rows + kSpareRows);
    return room;
  }

 private:
  kernels::AlignedBytes values_;
  kernels::AlignedBytes scales_;
};

class FloatRoom {
 public:
  float* of(std::int64_t rows, std::int64_t columns) { return values_.elements<float>((rows + kSpareRows) * columns); }

 private:
  kernels::AlignedBytes values_;
};

}  // namespace edgewise
