// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "edgewise/kernels/simd/aligned_buffer.h"

// Operands and results of matrix products, in buffers that are reused from step to step. T is the element type of a
// product's operands: float, BFloat16 or std::int8_t. Shapes: R = rows, N = columns.

namespace edgewise {

template <typename T>
inline constexpr bool kIsInt8 = std::is_same_v<T, std::int8_t>;

/// The left operand of a product.
template <typename T>
struct Activations {
  T* values;                // [R, N]
  float* scales = nullptr;  // [R], for std::int8_t only
};

/// Memory for floats, [rows, columns]. It grows to the largest size requested, and growing discards the contents.
class FloatBuffer {
 public:
  float* allocate(std::int64_t rows, std::int64_t columns) { return values_.elements<float>(rows * columns); }

 private:
  kernels::AlignedBuffer values_;
};

/// Memory for Activations, which grows as a FloatBuffer does.
template <typename T>
class ActivationBuffer {
 public:
  Activations<T> allocate(std::int64_t rows, std::int64_t columns) {
    Activations<T> activations = {values_.elements<T>(rows * columns)};
    if constexpr (kIsInt8<T>) activations.scales = scales_.elements<float>(rows);
    return activations;
  }

 private:
  kernels::AlignedBuffer values_;
  kernels::AlignedBuffer scales_;
};

}  // namespace edgewise
