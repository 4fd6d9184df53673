// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "edgewise/kernels/gemm/epilogue.h"

namespace edgewise::kernels::reference {
namespace {

void normalise(std::vector<float>& row, const float* gain, const float* bias, const NormFormula& norm) {
  double mean = 0;
  for (const float value : row) mean += value;
  mean /= static_cast<double>(row.size());
  double squares = 0;
  for (const float value : row) squares += (value - mean) * (value - mean);
  const double deviation = std::sqrt(squares / norm.divisor + norm.epsilon_inside) + norm.epsilon_outside;
  for (std::size_t n = 0; n < row.size(); ++n) {
    row[n] = static_cast<float>((row[n] - mean) / deviation * gain[n] + bias[n]);
  }
}

template <typename T>
void round_row(const RowEpilogue<T>& p, std::int64_t row, const std::vector<float>& values) {
  T* to = p.rounded + row * p.columns;
  if constexpr (std::is_same_v<T, std::int8_t>) {
    float largest = 0;
    for (const float value : values) largest = std::max(largest, std::abs(value));
    p.rounded_scale[row] = largest / 127;
    for (std::size_t n = 0; n < values.size(); ++n) {
      to[n] = largest > 0 ? static_cast<T>(std::lrintf(values[n] * (127 / largest))) : T{0};
    }
  } else {
    for (std::size_t n = 0; n < values.size(); ++n) to[n] = T(values[n]);
  }
}

}  // namespace

template <typename T>
void apply_epilogue(const RowEpilogue<T>& p) {
  std::vector<float> values(static_cast<std::size_t>(p.columns));
  const std::int64_t out_stride = p.out_stride == 0 ? p.columns : p.out_stride;
  for (std::int64_t row = 0; row < p.rows; ++row) {
    for (std::int64_t n = 0; n < p.columns; ++n) {
      values[n] = p.values[row * p.columns + n];
      if (p.residual != nullptr) values[n] = p.residual[row * p.columns + n] += values[n];
    }
    if (p.gain != nullptr) normalise(values, p.gain, p.norm_bias, p.norm);
    if (p.out != nullptr) std::copy(values.begin(), values.end(), p.out + row * out_stride);
    if (p.rounded != nullptr) round_row(p, row, values);
  }
}

template void apply_epilogue(const RowEpilogue<float>&);
template void apply_epilogue(const RowEpilogue<BFloat16>&);
template void apply_epilogue(const RowEpilogue<std::int8_t>&);

}  // namespace edgewise::kernels::reference
