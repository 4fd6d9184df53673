// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <variant>
#include <vector>

#include "edgewise/base/bfloat16.h"
#include "edgewise/base/random.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/gemm/linear_gradient.h"
#include "edgewise/kernels/simd/instruction_set.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/gemm/linear_gradient_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/dropout/dropout-inl.h"
#include "edgewise/kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

/// HWY_EXPORT exports no templates, so a variant holds the types.
using AnyGradient = std::variant<const ActivationGradient<float>*, const ActivationGradient<BFloat16>*>;

constexpr std::int64_t kChunk = 1024;  // the dropout factors of 1024 values stay in the first-level cache

/// Computes the gradients of `count` values of a row from `first` on, an index into the whole matrix. factor(i, part)
/// returns the derivative of out with respect to x at value first + i.
template <typename T, class Factor>
void multiply_gradients(const ActivationGradient<T>& p, std::int64_t first, std::int64_t count, float* bias_sum,
                        Factor factor) {
  for_each_vector(count, [&](std::int64_t i, auto part) HWY_ATTR {
    const Floats gradient = hn::Mul(load(part, p.grad_out + first + i), factor(i, part));
    if (p.grad_x != nullptr) store(part, gradient, p.grad_x + first + i);
    if (bias_sum != nullptr) store(part, hn::Add(load(part, bias_sum + i), gradient), bias_sum + i);
  });
}

template <typename T>
void backward_relu(const ActivationGradient<T>& p, std::int64_t first, std::int64_t count, float* bias_sum) {
  const FloatTag d;
  const Floats scale = hn::Set(d, DropoutRule<float>(p.dropout).scale());
  multiply_gradients(p, first, count, bias_sum, [&](std::int64_t i, auto part) HWY_ATTR {
    const Floats out = load(part, p.saved + first + i);
    return hn::IfThenElseZero(hn::Gt(out, hn::Zero(d)), scale);
  });
}

template <typename T>
void backward_dropout(const ActivationGradient<T>& p, std::int64_t first, std::int64_t count, float* bias_sum) {
  const DropoutFactors factors(p.dropout);
  HWY_ALIGN float buffer[kChunk + kDropoutFactorsSlack];
  const float* factor = factors.fill_range(first, count, buffer);
  multiply_gradients(p, first, count, bias_sum,
                     [factor](std::int64_t i, auto /*part*/) HWY_ATTR { return hn::LoadU(FloatTag(), factor + i); });
}

template <typename T>
void backward_identity(const ActivationGradient<T>& p, std::int64_t first, std::int64_t count, float* bias_sum) {
  const Floats one = hn::Set(FloatTag(), 1.0f);
  multiply_gradients(p, first, count, bias_sum, [one](std::int64_t /*i*/, auto /*part*/) HWY_ATTR { return one; });
}

/// Computes the gradients of rows [begin, end), and adds them to bias_sum, [O], unless it is null.
template <typename T>
void backward_rows(const ActivationGradient<T>& p, std::int64_t begin, std::int64_t end, float* bias_sum) {
  const auto backward = p.activation == GemmActivation::kRelu ? backward_relu<T>
                        : p.dropout.rate > 0.0                ? backward_dropout<T>
                                                              : backward_identity<T>;
  for (std::int64_t row = begin; row < end; ++row) {
    for (std::int64_t column = 0; column < p.columns; column += kChunk) {
      backward(p, row * p.columns + column, std::min(kChunk, p.columns - column),
               bias_sum == nullptr ? nullptr : bias_sum + column);
    }
  }
}

void compute_gradient_rows(const AnyGradient& any, std::int64_t begin, std::int64_t end, float* bias_sum) {
  std::visit([=](const auto* p) HWY_ATTR { backward_rows(*p, begin, end, bias_sum); }, any);
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels::reference {
namespace {

template <typename T>
float compute_derivative(const ActivationGradient<T>& p, std::int64_t at) {
  const DropoutRule<float> rule(p.dropout);
  if (p.activation == GemmActivation::kRelu) return p.saved[at] > 0 ? rule.scale() : 0;
  const auto block = philox(p.dropout.seed, p.dropout.stream, static_cast<std::uint64_t>(at / 4));
  return rule.factor(block[static_cast<std::size_t>(at % 4)]);
}

}  // namespace

template <typename T>
void activation_gradient(const ActivationGradient<T>& p) {
  std::vector<double> sum(static_cast<std::size_t>(p.columns));
  for (std::int64_t at = 0; at < p.rows * p.columns; ++at) {
    const float gradient = p.grad_out[at] * compute_derivative(p, at);
    if (p.grad_x != nullptr) p.grad_x[at] = T(gradient);
    sum[at % p.columns] += gradient;
  }
  if (p.grad_bias == nullptr) return;
  for (std::int64_t column = 0; column < p.columns; ++column) {
    p.grad_bias[column] = static_cast<float>(p.grad_bias[column] + sum[column]);
  }
}

template void activation_gradient(const ActivationGradient<float>&);
template void activation_gradient(const ActivationGradient<BFloat16>&);

}  // namespace edgewise::kernels::reference

namespace edgewise::kernels {

HWY_EXPORT(compute_gradient_rows);

template <typename T>
void activation_gradient(const ActivationGradient<T>& p) {
  if (instruction_set() == InstructionSet::kReference) return reference::activation_gradient(p);
  constexpr std::int64_t kBlock = 64;  // rows of a partial sum
  const std::int64_t num_blocks = (p.rows + kBlock - 1) / kBlock;
  std::vector<float> bias_sums(static_cast<std::size_t>(p.grad_bias != nullptr ? num_blocks * p.columns : 0));
  parallel_for(num_blocks, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t block = first; block < last; ++block) {
      float* bias_sum = p.grad_bias != nullptr ? bias_sums.data() + block * p.columns : nullptr;
      HWY_DYNAMIC_DISPATCH(compute_gradient_rows)
      (&p, block * kBlock, std::min(p.rows, (block + 1) * kBlock), bias_sum);
    }
  });
  if (p.grad_bias == nullptr) return;
  for (std::int64_t block = 0; block < num_blocks; ++block) {
    for (std::int64_t i = 0; i < p.columns; ++i) p.grad_bias[i] += bias_sums[block * p.columns + i];
  }
}

template void activation_gradient(const ActivationGradient<float>&);
template void activation_gradient(const ActivationGradient<BFloat16>&);

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
