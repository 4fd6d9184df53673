// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/gemm/gemm.h"
#include "edgewise/kernels/reference_loops.h"

namespace edgewise::kernels::reference {
namespace {

/// Returns b as floats [K, N] in rows.
template <typename T, typename Out>
std::vector<float> unpack_right_side(const Gemm<T, Out>& p) {
  if (p.packed_b != nullptr) return p.packed_b->unpack();
  std::vector<float> b;
  b.reserve(static_cast<std::size_t>(p.depth * p.columns));
  for (std::int64_t k = 0; k < p.depth; ++k) {
    for (std::int64_t n = 0; n < p.columns; ++n) b.push_back(p.b.at(k, n));
  }
  return b;
}

template <typename T, typename Out>
void compute_row(const Gemm<T, Out>& p, const float* b, std::int64_t row) {
  std::vector<float> sum(static_cast<std::size_t>(p.columns));
  for (std::int64_t k = 0; k < p.depth; ++k) {
    add_scaled<float>(sum.data(), p.a.at(row, k), b + k * p.columns, p.columns);
  }
  Out* out = p.out + row * p.out_stride;
  for (std::int64_t n = 0; n < p.columns; ++n) {
    float value = sum[n];
    if (p.bias != nullptr) value += p.bias[n];
    if (p.result == GemmResult::kAdd) value += out[n];
    out[n] = Out(activate(value, p.activation));
  }
}

}  // namespace

template <typename T, typename Out>
void gemm(const Gemm<T, Out>& product) {
  const std::vector<float> b = unpack_right_side(product);
  const std::int64_t grain = 1 + 100'000 / std::max<std::int64_t>(1, product.depth * product.columns);
  parallel_for(product.rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) compute_row(product, b.data(), row);
  });
}

template void gemm(const Gemm<float, float>&);
template void gemm(const Gemm<BFloat16, BFloat16>&);
template void gemm(const Gemm<BFloat16, float>&);

}  // namespace edgewise::kernels::reference
