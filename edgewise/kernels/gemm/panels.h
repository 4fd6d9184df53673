// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "edgewise/kernels/gemm/gemm.h"

// Products on AVX-512 whose right side lies in panels: columns that go through the registers together, so that a panel
// is read from one end to the other, by one group of rows after another while it is in the nearest cache. T is float,
// BFloat16 for instructions that sum two products at once, or std::int8_t for those that sum four (VNNI).

namespace edgewise::kernels::cpu {

/// Whether this machine has what such products need, and nothing faster: AMX is oneDNN's affair.
template <typename T>
bool panels_are_fast();
template <>
bool panels_are_fast<float>();
template <>
bool panels_are_fast<std::int8_t>();
template <>
bool panels_are_fast<BFloat16>();

/// Bytes of [K, N] in panels.
template <typename T>
std::size_t size_of_panels(std::int64_t depth, std::int64_t columns);

/// Rounded to T.
template <typename T, typename From>
void pack_panels(const Matrix<From>& from, std::int64_t depth, std::int64_t columns, void* to);

/// What makes values of sums: the scales of rows and columns, for std::int8_t, and what is added.
struct PanelScale {
  const float* rows = nullptr;     // [M]
  const float* columns = nullptr;  // [N]
  const float* bias = nullptr;     // [N], or null
  bool is_relu = false;            // negative ones become 0
};

/// The product of rows, `a_stride` apart, with a matrix that is packed in panels.
template <typename T>
struct PanelProduct {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
  const T* a;  // [M, K]
  std::int64_t a_stride;
  const void* panels;
  PanelScale scale;
  float* out;  // [M, N]
  std::int64_t out_stride;
};

std::int64_t num_panels(std::int64_t columns);

/// Those columns of it that are in panels [begin, end), on the thread that calls. Each sum runs over k in ascending
/// order, however a product is cut.
template <typename T>
void multiply_panels(const PanelProduct<T>& p, std::int64_t begin, std::int64_t end);

}  // namespace edgewise::kernels::cpu
