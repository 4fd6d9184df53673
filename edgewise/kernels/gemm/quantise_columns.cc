// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gemm/quantise_columns.h"

#include <algorithm>
#include <cmath>

#include "edgewise/base/threads.h"

namespace edgewise::kernels {

Matrix<std::int8_t> quantise_columns(const Matrix<float>& from, std::int64_t depth, std::int64_t columns,
                                     std::vector<float>& scales, AlignedBuffer& buffer) {
  constexpr float kLargest = 127;
  const bool is_in_rows = from.layout == MatrixLayout::kRows;
  const std::int64_t row_step = is_in_rows ? from.stride : 1;
  const std::int64_t column_step = is_in_rows ? 1 : from.stride;
  auto* to = buffer.elements<std::int8_t>(depth * columns);
  scales.resize(static_cast<std::size_t>(columns));
  parallel_for(columns, 1 + 16'384 / std::max<std::int64_t>(1, depth), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      const float* values = from.data + n * column_step;
      float largest = 0;
      for (std::int64_t k = 0; k < depth; ++k) largest = std::max(largest, std::abs(values[k * row_step]));
      scales[n] = largest / kLargest;
      const float factor = largest > 0 ? kLargest / largest : 0.0f;
      for (std::int64_t k = 0; k < depth; ++k) {
        to[n * depth + k] = static_cast<std::int8_t>(std::lrintf(values[k * row_step] * factor));
      }
    }
  });
  return {to, depth, MatrixLayout::kColumns};
}

}  // namespace edgewise::kernels
