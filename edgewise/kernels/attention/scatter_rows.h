// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/base/bfloat16.h"
#include "edgewise/device/stream.h"

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

/// Begins scatter_rows() on a GPU in `stream`. All pointers are to memory of the device. p.from and the rows p.to[r]
/// are multiples of 16 bytes. It is fastest if the columns, the stride and the offset are multiples of 4. The results
/// have the bits of the CPU, except that every NaN of BFloat16 may be another NaN.
template <typename T>
void scatter_rows(const ScatterRows<T>& p, device::Stream stream);

namespace reference {

/// kernels::scatter_rows in plain loops.
template <typename T>
void scatter_rows(const ScatterRows<T>& p);

}  // namespace reference
}  // namespace edgewise::kernels
