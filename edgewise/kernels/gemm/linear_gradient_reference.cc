// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "edgewise/base/bfloat16.h"
#include "edgewise/base/random.h"
#include "edgewise/kernels/gemm/linear_gradient.h"

namespace edgewise::kernels::reference {
namespace {

template <typename T>
float compute_derivative(const LinearGradient<T>& p, std::int64_t at) {
  const DropoutRule<float> rule(p.dropout);
  if (p.relu_out != nullptr) return p.relu_out[at] > 0 ? rule.scale() : 0;
  const auto block = philox(p.dropout.seed, p.dropout.stream, static_cast<std::uint64_t>(at / 4));
  return rule.factor(block[static_cast<std::size_t>(at % 4)]);
}

}  // namespace

template <typename T>
void linear_gradient(const LinearGradient<T>& p) {
  std::vector<double> sum(static_cast<std::size_t>(p.columns));
  for (std::int64_t at = 0; at < p.rows * p.columns; ++at) {
    const float gradient = p.grad_out[at] * compute_derivative(p, at);
    if (p.grad_sum != nullptr) p.grad_sum[at] = T(gradient);
    sum[at % p.columns] += gradient;
  }
  if (p.grad_bias == nullptr) return;
  for (std::int64_t column = 0; column < p.columns; ++column) {
    p.grad_bias[column] = static_cast<float>(p.grad_bias[column] + sum[column]);
  }
}

template void linear_gradient(const LinearGradient<float>&);
template void linear_gradient(const LinearGradient<BFloat16>&);

}  // namespace edgewise::kernels::reference
