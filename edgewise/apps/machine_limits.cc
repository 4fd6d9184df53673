// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/machine_limits.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

namespace edgewise {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::duration<double> kTimePerProduct(0.3);

struct Product {
  std::int64_t rows, inner, columns;
  double flops() const { return 2.0 * static_cast<double>(rows * inner * columns); }
};

// Square, and as the layers of a large model have it.
constexpr std::array kProducts = {Product{2048, 2048, 2048}, Product{4096, 512, 2048}, Product{4096, 1024, 1024}};

double flops_per_second(const Product& product, at::ScalarType dtype) {
  const at::Tensor left = at::randn({product.rows, product.inner}).to(dtype);
  const at::Tensor right = at::randn({product.inner, product.columns}).to(dtype);
  at::Tensor out = at::empty({product.rows, product.columns}, left.options());
  const auto multiply = [&] { at::mm_out(out, left, right); };

  multiply();
  double best = 0.0;
  const Clock::time_point begin = Clock::now();
  for (Clock::time_point before = begin; before - begin < kTimePerProduct;) {
    multiply();
    const Clock::time_point after = Clock::now();
    best = std::max(best, product.flops() / std::chrono::duration<double>(after - before).count());
    before = after;
  }
  return best;
}

}  // namespace

double gemm_peak(at::ScalarType dtype) {
  double peak = 0.0;
  for (const Product& product : kProducts) peak = std::max(peak, flops_per_second(product, dtype));
  return peak;
}

}  // namespace edgewise
