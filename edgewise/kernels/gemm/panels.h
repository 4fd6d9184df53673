// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "edgewise/kernels/gemm/gemm.h"

// Products whose right side is packed in panels of a few columns. A panel stays in the first- or second-level cache
// while each group of rows reads it sequentially. T is float, BFloat16 or std::int8_t.
//
// The bits of a result element depend neither on the other rows nor on the number of threads: its sum runs over k in
// ascending order, in one sequence of instructions for any division into groups of rows and into panels.

namespace edgewise::kernels {

/// The implementations of the product, each with its own width of a panel.
enum class PanelFormat : std::uint8_t {
  kNarrow,  // 16 columns: panels_cpu.cc, for every instruction set, and panels_reference.cc
  kAvx512,  // 64 columns: panels_avx512.cc. BFloat16 and std::int8_t need the instructions that add 2 or 4 products
};

/// Returns the fastest format for the instruction set in force and the instructions of this machine.
template <typename T>
PanelFormat choose_panel_format();

/// Returns the bytes of [K, N] packed in panels.
template <typename T>
std::size_t count_panel_bytes(PanelFormat format, std::int64_t depth, std::int64_t columns);

/// Packs [K, N] into panels, rounded to T. From is T, float, or BFloat16 for a T of float.
template <typename T, typename From>
void pack_panels(PanelFormat format, const Matrix<From>& from, std::int64_t depth, std::int64_t columns, void* to);

/// The operations on each sum before it is written: value = relu(sum * row_scale * column_scale + bias).
struct PanelEpilogue {
  const float* row_scales = nullptr;     // [M], for std::int8_t
  const float* column_scales = nullptr;  // [N], for std::int8_t
  const float* bias = nullptr;           // [N], or null
  bool is_relu = false;
};

/// The largest K of products of 8-bit numbers, whose sums of 32 bits then hold 128 * 128 * K.
inline constexpr std::int64_t kMaxInt8Depth = 131'071;

/// The product of M rows with a matrix packed in panels. K is at most kMaxInt8Depth for std::int8_t.
template <typename T>
struct PanelProduct {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
  const T* a;  // [M, K], rows `a_stride` elements apart
  std::int64_t a_stride;
  PanelFormat format;
  const void* panels;
  PanelEpilogue epilogue;
  float* out;  // [M, N]
  std::int64_t out_stride;
};

/// Returns the number of columns of each panel but the last, which may have fewer.
std::int64_t panel_columns(PanelFormat format);
std::int64_t count_panels(PanelFormat format, std::int64_t columns);

/// Computes the columns of panels [begin, end), on the calling thread.
template <typename T>
void multiply_panels(const PanelProduct<T>& p, std::int64_t begin, std::int64_t end);

/// Returns whether each call of multiply_panels() converts the left side, which several calls would do several times.
template <typename T>
bool converts_left_side(PanelFormat format);

namespace cpu {

/// multiply_panels() of kNarrow with the vectors of the instruction set in force.
template <typename T>
void multiply_narrow_panels(const PanelProduct<T>& p, std::int64_t begin, std::int64_t end);

/// multiply_panels() of kAvx512.
template <typename T>
void multiply_avx512_panels(const PanelProduct<T>& p, std::int64_t begin, std::int64_t end);

}  // namespace cpu

namespace reference {

/// multiply_panels() of kNarrow in plain loops.
template <typename T>
void multiply_panels(const PanelProduct<T>& p, std::int64_t begin, std::int64_t end);

}  // namespace reference
}  // namespace edgewise::kernels
