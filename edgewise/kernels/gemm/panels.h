// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "edgewise/kernels/gemm/gemm.h"

// Products on AVX-512 whose right side is packed in panels of 64 columns. A panel stays in the first-level cache while
// each group of rows reads it sequentially. T is float, BFloat16 (instructions that add two products) or std::int8_t
// (VNNI instructions, which add four).

namespace edgewise::kernels::cpu {

/// Returns whether this machine has the instructions for panels of T. BFloat16 and std::int8_t also need a machine
/// without AMX, with which oneDNN is faster, and BFloat16 has_native_bf16().
template <typename T>
bool has_fast_panels();

/// Returns the bytes of [K, N] packed in panels.
template <typename T>
std::size_t count_panel_bytes(std::int64_t depth, std::int64_t columns);

/// Packs [K, N] into panels, rounded to T.
template <typename T, typename From>
void pack_panels(const Matrix<From>& from, std::int64_t depth, std::int64_t columns, void* to);

/// The operations on each sum before it is written: value = relu(sum * row_scale * column_scale + bias).
struct PanelEpilogue {
  const float* row_scales = nullptr;     // [M], for std::int8_t
  const float* column_scales = nullptr;  // [N], for std::int8_t
  const float* bias = nullptr;           // [N], or null
  bool is_relu = false;
};

/// The product of M rows with a matrix packed in panels.
template <typename T>
struct PanelProduct {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
  const T* a;  // [M, K], rows `a_stride` elements apart
  std::int64_t a_stride;
  const void* panels;
  PanelEpilogue epilogue;
  float* out;  // [M, N]
  std::int64_t out_stride;
};

std::int64_t count_panels(std::int64_t columns);

/// Computes the columns of panels [begin, end), on the calling thread. Each sum runs over k in ascending order for any
/// split into rows and panels.
template <typename T>
void multiply_panels(const PanelProduct<T>& p, std::int64_t begin, std::int64_t end);

}  // namespace edgewise::kernels::cpu
