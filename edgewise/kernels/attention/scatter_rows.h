// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/base/bfloat16.h"

namespace edgewise::kernels {

/// to[r][offset + n] = from[r * stride + n], rounded to T: float or BFloat16. Shapes: R = rows, N = columns.
template <typename T>
struct ScatterRows {
  std::int64_t rows;
  std::int64_t columns;
  const float* from;
  std::int64_t stride;
  T* const* to;  // [R]
  std::int64_t offset;
};

template <typename T>
void scatter_rows(const ScatterRows<T>& p);

}  // namespace edgewise::kernels
