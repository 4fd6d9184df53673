// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "edgewise/kernels/gemm/panels.h"

namespace edgewise::kernels {

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

  std::int64_t step_size() const { return step_size_; }
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
