// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "edgewise/kernels/gemm/gemm.h"

// Products whose right side is packed in panels of a few columns. A panel stays in the first- or second-level cache
// while each group of rows reads it sequentially. T is float, BFloat16 or std::int8_t.
//
// The bits of a result element depend neither on the other rows nor on the number of threads: its sum runs over k in
// ascending order, in one sequence of instructions for any division into groups of rows and into panels.
namespace edgewise::kernels {

/// The implementations of the product, each with its own width of a panel.
enum class PanelFormat : std::uint8_t {
  kNarrow,  // 16 columns: panels_cpu.cc, for every instruction set, and reference::multiply_panels()
  kAvx512,  // 64 columns: panels_avx512.cc. BFloat16 and std::int8_t need the instructions that add 2 or 4 products
};

/// Returns the fastest format for the instruction set in use and the instructions of this machine.
template <typename T>
PanelFormat choose_panel_format();

/// Returns the bytes of [K, N] packed in panels.
template <typename T>
std::size_t count_panel_bytes(PanelFormat format, std::int64_t depth, std::int64_t columns);

/// Packs [K, N] into panels, rounded to T. From is T, float, or BFloat16 for a T of float.
template <typename T, typename From>
void pack_panels(PanelFormat format, const Matrix<From>& from, std::int64_t depth, std::int64_t columns, void* to);

/// A column of a matrix [K, N] that is packed in panels.
template <class Address>
struct PackedColumn {
  Address panels;
  std::int64_t columns;  // N
  std::int64_t column;
};

/// Copies a column of K elements into other panels of the same format.
template <typename T>
void copy_panel_column(PanelFormat format, std::int64_t depth, const PackedColumn<const void*>& from,
                       const PackedColumn<void*>& to);

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

/// multiply_panels() of kNarrow with the vectors of the instruction set in use.
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

inline constexpr std::int64_t kPanelLanes = 16;  // columns of a vector
inline constexpr std::int64_t kStepBytes = 4;    // bytes of a step in kAvx512

/// Returns the elements of a step of the depth: one instruction multiplies them and adds the products to one sum.
template <typename T>
constexpr std::int64_t panel_step_size(PanelFormat format) {
  if (format == PanelFormat::kAvx512) return kStepBytes / std::int64_t{sizeof(T)};
  return std::is_same_v<T, std::int8_t> ? 2 : 1;
}

/// Returns the vectors of each panel but the last, which may have fewer.
constexpr int panel_vectors(PanelFormat format) { return format == PanelFormat::kAvx512 ? 4 : 1; }

constexpr std::int64_t divide_up(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }

/// The memory layout of packed panels: [panels, steps of the depth, columns of a panel, elements of a step]. The last
/// panel has only as many vectors of 16 columns as it needs; zeros fill the last vector and the last step. In kAvx512
/// the initial values of the sums, [N], follow.
template <typename T>
class PanelLayout {
 public:
  PanelLayout(PanelFormat format, std::int64_t depth, std::int64_t columns)
      : format_(format),
        step_size_(panel_step_size<T>(format)),
        panel_vectors_(panel_vectors(format)),
        vectors_(divide_up(columns, kPanelLanes)),
        steps_(divide_up(depth, step_size_)) {}

  std::int64_t steps() const { return steps_; }

  std::int64_t count_vectors(std::int64_t panel) const {
    return std::min(panel_vectors_, vectors_ - panel * panel_vectors_);
  }

  /// Returns the offset of a panel in bytes.
  std::int64_t panel_offset(std::int64_t panel) const { return panel * panel_vectors_ * steps_ * vector_bytes(); }

  /// Returns the index of the first element of column n, counted in elements from the start of the memory.
  std::int64_t first_index_of(std::int64_t n) const {
    const std::int64_t panel = panel_of(n);
    const std::int64_t column = n - panel * panel_vectors_ * kPanelLanes;
    return panel_offset(panel) / std::int64_t{sizeof(T)} + column * step_size_;
  }

  /// Returns the elements from one step of column n to the next.
  std::int64_t step_stride(std::int64_t n) const { return count_vectors(panel_of(n)) * kPanelLanes * step_size_; }

  /// Returns the offset of the initial values of the sums in bytes.
  std::int64_t initial_sums_offset() const { return vectors_ * steps_ * vector_bytes(); }

  std::int64_t bytes() const {
    const std::int64_t sums = format_ == PanelFormat::kAvx512 ? vectors_ * kPanelLanes : 0;
    return initial_sums_offset() + sums * std::int64_t{sizeof(std::int32_t)};
  }

 private:
  /// Returns the bytes of a vector in one step.
  std::int64_t vector_bytes() const { return kPanelLanes * step_size_ * std::int64_t{sizeof(T)}; }

  std::int64_t panel_of(std::int64_t n) const { return n / (panel_vectors_ * kPanelLanes); }

  PanelFormat format_;
  std::int64_t step_size_;
  std::int64_t panel_vectors_;
  std::int64_t vectors_;  // vectors of 16 columns, over all panels
  std::int64_t steps_;    // steps of the depth
};

/// A part of the result.
struct OutputBlock {
  std::int64_t rows;
  std::int64_t columns;
  PanelEpilogue epilogue;
  float* out;
  std::int64_t stride;
};

inline PanelEpilogue slice_epilogue(const PanelEpilogue& epilogue, std::int64_t row, std::int64_t column) {
  PanelEpilogue part = epilogue;
  if (part.row_scales != nullptr) part.row_scales += row;
  if (part.column_scales != nullptr) part.column_scales += column;
  if (part.bias != nullptr) part.bias += column;
  return part;
}

inline constexpr int kPanelRows = 6;  // rows of a group, at most

/// Cuts `rows` rows into groups of at most kPanelRows and nearly equal size, and calls body(first, count) for each.
template <class Body>
void for_row_groups(std::int64_t rows, const Body& body) {
  const std::int64_t groups = divide_up(rows, kPanelRows);
  std::int64_t first = 0;
  for (std::int64_t group = 0; group < groups; ++group) {
    const std::int64_t count = rows / groups + (group < rows % groups ? 1 : 0);
    body(first, count);
    first += count;
  }
}

}  // namespace edgewise::kernels
