// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gemm/panels.h"

#include <array>
#include <cstring>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/gemm/micro_kernels.h"
#include "edgewise/kernels/simd/instruction_set.h"

namespace edgewise::kernels::reference {
namespace {

template <typename T>
using Sum = std::conditional_t<std::is_same_v<T, std::int8_t>, std::int32_t, float>;

template <typename T>
float finish_sum(Sum<T> sum, const PanelEpilogue& epilogue, std::int64_t row, std::int64_t n) {
  auto value = static_cast<float>(sum);
  if constexpr (std::is_same_v<T, std::int8_t>) value *= epilogue.row_scales[row] * epilogue.column_scales[n];
  if (epilogue.bias != nullptr) value += epilogue.bias[n];
  return epilogue.is_relu ? std::max(value, 0.0f) : value;
}

template <typename T>
void compute_row(const PanelProduct<T>& p, const PanelLayout<T>& layout, std::int64_t panel, std::int64_t row) {
  std::array<Sum<T>, kPanelLanes> sums = {};
  const T* a = p.a + row * p.a_stride;
  const T* b = static_cast<const T*>(p.panels) + layout.first_index_of(panel * kPanelLanes);
  constexpr std::int64_t kStep = panel_step_size<T>(PanelFormat::kNarrow);
  for (std::int64_t k = 0; k < p.depth; ++k) {
    const T* step = b + k / kStep * kPanelLanes * kStep + k % kStep;
    for (std::int64_t n = 0; n < kPanelLanes; ++n) {
      sums[n] += static_cast<Sum<T>>(a[k]) * static_cast<Sum<T>>(step[n * kStep]);
    }
  }
  const std::int64_t first = panel * kPanelLanes;
  const std::int64_t end = std::min(first + kPanelLanes, p.columns);
  float* out = p.out + row * p.out_stride;
  for (std::int64_t n = first; n < end; ++n) out[n] = finish_sum<T>(sums[n - first], p.epilogue, row, n);
}

}  // namespace

template <typename T>
void multiply_panels(const PanelProduct<T>& p, std::int64_t begin, std::int64_t end) {
  const PanelLayout<T> layout(PanelFormat::kNarrow, p.depth, p.columns);
  for (std::int64_t panel = begin; panel < end; ++panel) {
    for (std::int64_t row = 0; row < p.rows; ++row) compute_row(p, layout, panel, row);
  }
}

template void multiply_panels(const PanelProduct<float>&, std::int64_t, std::int64_t);
template void multiply_panels(const PanelProduct<BFloat16>&, std::int64_t, std::int64_t);
template void multiply_panels(const PanelProduct<std::int8_t>&, std::int64_t, std::int64_t);

}  // namespace edgewise::kernels::reference

namespace edgewise::kernels {
namespace {

/// Packs a column of `depth` elements, `row_step` apart. Its steps in `to` are `step_stride` elements apart.
template <PanelFormat format, typename T, typename From>
void pack_column(const From* column, std::int64_t row_step, std::int64_t depth, T* to, std::int64_t step_stride) {
  constexpr std::int64_t kStep = panel_step_size<T>(format);
  std::int64_t k = 0;
  for (; k + kStep <= depth; k += kStep, to += step_stride) {
    for (std::int64_t i = 0; i < kStep; ++i) to[i] = T(column[(k + i) * row_step]);
  }
  for (std::int64_t i = 0; k + i < depth; ++i) to[i] = T(column[(k + i) * row_step]);
}

/// Returns whether the initial values of sums follow the panels (panels_avx512.cc).
template <typename T>
bool has_initial_sums(PanelFormat format) {
  return format == PanelFormat::kAvx512 && std::is_same_v<T, std::int8_t>;
}

}  // namespace

template <typename T>
PanelFormat choose_panel_format() {
  return cpu::has_micro_kernels<T>() ? PanelFormat::kAvx512 : PanelFormat::kNarrow;
}

std::int64_t panel_columns(PanelFormat format) { return kPanelLanes * panel_vectors(format); }

std::int64_t count_panels(PanelFormat format, std::int64_t columns) {
  return divide_up(columns, panel_columns(format));
}

template <typename T>
std::size_t count_panel_bytes(PanelFormat format, std::int64_t depth, std::int64_t columns) {
  return static_cast<std::size_t>(PanelLayout<T>(format, depth, columns).bytes());
}

template <typename T, typename From>
void pack_panels(PanelFormat format, const Matrix<From>& from, std::int64_t depth, std::int64_t columns, void* to) {
  const PanelLayout<T> layout(format, depth, columns);
  if (layout.bytes() == 0) return;
  const std::int64_t row_step = from.row_step();
  std::memset(to, 0, static_cast<std::size_t>(layout.bytes()));
  auto* elements = static_cast<T*>(to);
  auto* initial_sums = reinterpret_cast<std::int32_t*>(static_cast<char*>(to) + layout.initial_sums_offset());
  const auto pack = format == PanelFormat::kAvx512 ? pack_column<PanelFormat::kAvx512, T, From>
                                                   : pack_column<PanelFormat::kNarrow, T, From>;
  parallel_for(columns, 1 + 65'536 / (depth + 1), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      const From* column = from.data + n * from.column_step();
      pack(column, row_step, depth, elements + layout.first_index_of(n), layout.step_stride(n));
      if (!has_initial_sums<T>(format)) continue;
      std::int32_t sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) sum += static_cast<std::int32_t>(column[k * row_step]);
      initial_sums[n] = -128 * sum;
    }
  });
}

template <typename T>
void copy_panel_column(PanelFormat format, std::int64_t depth, const PackedColumn<const void*>& from,
                       const PackedColumn<void*>& to) {
  const PanelLayout<T> source(format, depth, from.columns);
  const PanelLayout<T> destination(format, depth, to.columns);
  const std::int64_t step_bytes = panel_step_size<T>(format) * std::int64_t{sizeof(T)};
  const std::int64_t source_stride = source.step_stride(from.column) * std::int64_t{sizeof(T)};
  const std::int64_t destination_stride = destination.step_stride(to.column) * std::int64_t{sizeof(T)};
  const auto* read = static_cast<const char*>(from.panels);
  auto* written = static_cast<char*>(to.panels);
  const char* step = read + source.first_index_of(from.column) * std::int64_t{sizeof(T)};
  char* copy = written + destination.first_index_of(to.column) * std::int64_t{sizeof(T)};
  for (std::int64_t k = 0; k < source.steps(); ++k, step += source_stride, copy += destination_stride) {
    std::memcpy(copy, step, static_cast<std::size_t>(step_bytes));
  }
  if (!has_initial_sums<T>(format)) return;
  constexpr std::int64_t kBytes{sizeof(std::int32_t)};
  std::memcpy(written + destination.initial_sums_offset() + to.column * kBytes,
              read + source.initial_sums_offset() + from.column * kBytes, kBytes);
}

template <typename T>
void multiply_panels(const PanelProduct<T>& p, std::int64_t begin, std::int64_t end) {
  if (p.format == PanelFormat::kAvx512) return cpu::multiply_avx512_panels(p, begin, end);
  if (instruction_set() == InstructionSet::kReference) return reference::multiply_panels(p, begin, end);
  cpu::multiply_narrow_panels(p, begin, end);
}

template <typename T>
bool converts_left_side(PanelFormat format) {
  return std::is_same_v<T, std::int8_t> || (std::is_same_v<T, BFloat16> && format == PanelFormat::kNarrow);
}

template PanelFormat choose_panel_format<float>();
template PanelFormat choose_panel_format<BFloat16>();
template PanelFormat choose_panel_format<std::int8_t>();
template std::size_t count_panel_bytes<float>(PanelFormat, std::int64_t, std::int64_t);
template std::size_t count_panel_bytes<BFloat16>(PanelFormat, std::int64_t, std::int64_t);
template std::size_t count_panel_bytes<std::int8_t>(PanelFormat, std::int64_t, std::int64_t);
template void pack_panels<float>(PanelFormat, const Matrix<float>&, std::int64_t, std::int64_t, void*);
template void pack_panels<BFloat16>(PanelFormat, const Matrix<float>&, std::int64_t, std::int64_t, void*);
template void pack_panels<float>(PanelFormat, const Matrix<BFloat16>&, std::int64_t, std::int64_t, void*);
template void pack_panels<BFloat16>(PanelFormat, const Matrix<BFloat16>&, std::int64_t, std::int64_t, void*);
template void pack_panels<std::int8_t>(PanelFormat, const Matrix<std::int8_t>&, std::int64_t, std::int64_t, void*);
template void copy_panel_column<float>(PanelFormat, std::int64_t, const PackedColumn<const void*>&,
                                       const PackedColumn<void*>&);
template void copy_panel_column<BFloat16>(PanelFormat, std::int64_t, const PackedColumn<const void*>&,
                                          const PackedColumn<void*>&);
template void copy_panel_column<std::int8_t>(PanelFormat, std::int64_t, const PackedColumn<const void*>&,
                                             const PackedColumn<void*>&);
template void multiply_panels(const PanelProduct<float>&, std::int64_t, std::int64_t);
template void multiply_panels(const PanelProduct<BFloat16>&, std::int64_t, std::int64_t);
template void multiply_panels(const PanelProduct<std::int8_t>&, std::int64_t, std::int64_t);
template bool converts_left_side<float>(PanelFormat);
template bool converts_left_side<BFloat16>(PanelFormat);
template bool converts_left_side<std::int8_t>(PanelFormat);

}  // namespace edgewise::kernels
