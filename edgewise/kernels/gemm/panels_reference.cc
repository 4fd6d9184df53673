// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "edgewise/kernels/gemm/panels.h"

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
