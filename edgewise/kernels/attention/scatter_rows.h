// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/base/bfloat16.h"

namespace edgewise::kernels {

/// The arguments of to[r][offset + n] = T(from[r * stride + n]) for R rows of N columns. T is float or BFloat16.
template <typename T>
struct ScatterRows {
  std::int64_t rows;     // R
  std::int64_t columns;  // N
  const float* from;
  std::int64_t stride;
  T* const* to;  // [R]
  std::int64_t offset;
};

template <typename T>
void scatter_rows(const ScatterRows<T>& p);

namespace reference {

/// kernels::scatter_rows in plain loops.
template <typename T>
void scatter_rows(const ScatterRows<T>& p);

}  // namespace reference
}  // namespace edgewise::kernels
