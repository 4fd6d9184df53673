// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/base/bfloat16.h"
#include "edgewise/kernels/norm/add_norm.h"
#include "edgewise/kernels/gemm/gemm.h"

// What stands between two products when nothing is learnt: scales, bias, activation, residual sum, norm and rounding
// for the next product, in one pass. Shapes: R = rows, N = columns.

namespace edgewise::kernels {

/// A product of 8-bit matrices, and what it is to be multiplied by.
struct ScaledProduct {
  const std::int32_t* sums = nullptr;   // [R, N], or null
  const float* row_scale = nullptr;     // [R]
  const float* column_scale = nullptr;  // [N]
  const float* bias = nullptr;          // [N], or null
  GemmActivation activation = GemmActivation::kNone;
};

/// Row by row: a value is the product, or else what lies at `values`; it is added to `sum`, if any, and the sum is the
/// value from then on; so is its norm, if there is a gain. It is written to `out` and, rounded, to `rounded`. Out and
/// rounded may be null, and out may be sum or values. T is float, BFloat16 or std::int8_t: the last is divided by a
/// scale that makes the row's largest number 127.
template <typename T>
struct FinishRows {
  std::int64_t rows;
  std::int64_t columns;
  ScaledProduct product = {};
  const float* values = nullptr;     // [R, N]
  float* sum = nullptr;              // [R, N]
  const float* gain = nullptr;       // [N]
  const float* norm_bias = nullptr;  // [N]
  NormFormula norm = {};
  float* out = nullptr;            // [R, N], rows that begin `out_stride` apart
  std::int64_t out_stride = 0;     // 0: N
  T* rounded = nullptr;            // [R, N]
  float* rounded_scale = nullptr;  // [R], for std::int8_t

  /// The same of `count` rows, whose values or product are the caller's to give.
  FinishRows rows_from(std::int64_t first, std::int64_t count) const {
    FinishRows part = *this;
    part.rows = count;
    part.product = {};
    part.values = nullptr;
    if (sum != nullptr) part.sum += first * columns;
    if (out != nullptr) part.out += first * (out_stride == 0 ? columns : out_stride);
    if (rounded != nullptr) part.rounded += first * columns;
    if (rounded_scale != nullptr) part.rounded_scale += first;
    return part;
  }
};

template <typename T>
void finish_rows(const FinishRows<T>& p);

}  // namespace edgewise::kernels
