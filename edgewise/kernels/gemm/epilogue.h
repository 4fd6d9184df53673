// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "edgewise/base/bfloat16.h"
#include "edgewise/kernels/gemm/activation.h"
#include "edgewise/kernels/norm/add_norm.h"

// The operations between two matrix products of inference, in one pass over memory: residual sum, norm, and rounding
// for the next product. Shapes: R = rows, N = columns.
namespace edgewise::kernels {

/// The operations on each row x, in this order:
///   x = values, or if `gate` is set, gate(first N values) * last N values
///   x = residual += x, if residual is not null
///   x = norm(x) * gain + norm_bias, if gain is not null; without norm_bias if that is null
///   out = x, if out is not null
///   rounded = x rounded to T, if rounded is not null
/// `out` may be `residual` or `values`. T is float, BFloat16 or std::int8_t. For std::int8_t a row is first divided by
/// its scale, which makes its largest magnitude 127; or, with a multiplier, multiplied by this number, rounded to
/// float, and bounded to ±127: its scale is 1 / multiplier then.
template <typename T>
struct RowEpilogue {
  std::int64_t rows;
  std::int64_t columns;
  const float* values = nullptr;  // [R, N], or with `gate` [R, 2 N]
  std::optional<GemmActivation> gate = {};
  float* residual = nullptr;         // [R, N]
  const float* gain = nullptr;       // [N]
  const float* norm_bias = nullptr;  // [N], or null
  NormFormula norm = {};
  float* out = nullptr;            // [R, N], rows `out_stride` elements apart
  std::int64_t out_stride = 0;     // 0 means N
  T* rounded = nullptr;            // [R, N]
  float* rounded_scale = nullptr;  // [R], for std::int8_t
  float multiplier = 0;            // for std::int8_t; 0: each row has a scale of its own

  /// Returns the epilogue of `count` rows from `first` on, without values.
  RowEpilogue slice_rows(std::int64_t first, std::int64_t count) const {
    RowEpilogue part = *this;
    part.rows = count;
    part.values = nullptr;
    if (residual != nullptr) part.residual += first * columns;
    if (out != nullptr) part.out += first * (out_stride == 0 ? columns : out_stride);
    if (rounded != nullptr) part.rounded += first * columns;
    if (rounded_scale != nullptr) part.rounded_scale += first;
    return part;
  }
};

template <typename T>
void apply_epilogue(const RowEpilogue<T>& p);

namespace reference {
template <typename T>
void apply_epilogue(const RowEpilogue<T>& p);
}  // namespace reference

}  // namespace edgewise::kernels
