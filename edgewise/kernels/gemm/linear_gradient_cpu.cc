// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gemm/linear_gradient.h"

#include <algorithm>
#include <variant>
#include <vector>

#include "edgewise/base/bfloat16.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/kernels/gemm/linear_gradient_reference.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/gemm/linear_gradient_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/simd/cast-inl.h"
#include "edgewise/kernels/dropout/dropout-inl.h"

#ifndef EDGEWISE_KERNELS_CPU_LINEAR_GRADIENT_CC
#define EDGEWISE_KERNELS_CPU_LINEAR_GRADIENT_CC
namespace edgewise::kernels {

/// Rows `begin` to `end`, whose sums go to `bias_sum`, which is null if nobody wants them.
template <typename T>
struct LinearGradientRows {
  const LinearGradient<T>& all;
  std::int64_t begin;
  std::int64_t end;
  float* bias_sum;  // [O], zeros
};

using AnyLinearGradientRows = std::variant<LinearGradientRows<float>, LinearGradientRows<BFloat16>>;

}  // namespace edgewise::kernels
#endif  // EDGEWISE_KERNELS_CPU_LINEAR_GRADIENT_CC

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kChunk = 1024;  // values whose factors stay in the first cache

// Part of a row: `count` values from `first` on, counted through all rows. `factor` gives their factors by their
// places in the part.
template <typename T, class Factor>
void go_back(const LinearGradient<T>& p, std::int64_t first, std::int64_t count, float* bias_sum, Factor factor) {
  for_lanes(count, [&](std::int64_t i, auto part) HWY_ATTR {
    const Floats gradient = hn::Mul(load(part, p.grad_out + first + i), factor(i, part));
    if (p.grad_sum != nullptr) store(part, gradient, p.grad_sum + first + i);
    if (bias_sum != nullptr) store(part, hn::Add(load(part, bias_sum + i), gradient), bias_sum + i);
  });
}

template <typename T>
void go_back_through_relu(const LinearGradient<T>& p, std::int64_t first, std::int64_t count, float* bias_sum) {
  const FloatTag d;
  const Floats growth = hn::Set(d, DropoutRule<float>(p.dropout).growth());
  go_back(p, first, count, bias_sum, [&](std::int64_t i, auto part) HWY_ATTR {
    const Floats out = load(part, p.relu_out + first + i);
    return hn::IfThenElseZero(hn::Gt(out, hn::Zero(d)), growth);
  });
}

template <typename T>
void go_back_through_dropout(const LinearGradient<T>& p, std::int64_t first, std::int64_t count, float* bias_sum) {
  const DropoutFactors factors(p.dropout);
  HWY_ALIGN float room[kChunk + kDropoutFactorsSlack];
  const float* factor = factors.of_values(first, count, room);
  go_back(p, first, count, bias_sum,
          [factor](std::int64_t i, auto /*part*/) HWY_ATTR { return hn::LoadU(FloatTag(), factor + i); });
}

template <typename T>
void go_back_through_nothing(const LinearGradient<T>& p, std::int64_t first, std::int64_t count, float* bias_sum) {
  const Floats one = hn::Set(FloatTag(), 1.0f);
  go_back(p, first, count, bias_sum, [one](std::int64_t /*i*/, auto /*part*/) HWY_ATTR { return one; });
}

template <typename T>
void rows_back(const LinearGradientRows<T>& rows) {
  const LinearGradient<T>& p = rows.all;
  const auto go = p.relu_out != nullptr  ? go_back_through_relu<T>
                  : p.dropout.rate > 0.0 ? go_back_through_dropout<T>
                                         : go_back_through_nothing<T>;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    for (std::int64_t column = 0; column < p.columns; column += kChunk) {
      go(p, row * p.columns + column, std::min(kChunk, p.columns - column),
         rows.bias_sum == nullptr ? nullptr : rows.bias_sum + column);
    }
  }
}

void linear_gradient_rows(const AnyLinearGradientRows& rows) {
  std::visit([](const auto& typed) HWY_ATTR { rows_back(typed); }, rows);
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels {

HWY_EXPORT(linear_gradient_rows);

template <typename T>
void linear_gradient(const LinearGradient<T>& p) {
  if (instruction_set() == InstructionSet::kReference) return reference::linear_gradient(p);
  constexpr std::int64_t kBlock = 64;  // rows that are summed before their sum is
  const std::int64_t num_blocks = (p.rows + kBlock - 1) / kBlock;
  std::vector<float> bias_sums(static_cast<std::size_t>(p.grad_bias != nullptr ? num_blocks * p.columns : 0));
  parallel_for(num_blocks, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t block = first; block < last; ++block) {
      float* bias_sum = p.grad_bias != nullptr ? bias_sums.data() + block * p.columns : nullptr;
      HWY_DYNAMIC_DISPATCH(linear_gradient_rows)
      (LinearGradientRows<T>{p, block * kBlock, std::min(p.rows, (block + 1) * kBlock), bias_sum});
    }
  });
  if (p.grad_bias == nullptr) return;
  for (std::int64_t block = 0; block < num_blocks; ++block) {
    for (std::int64_t i = 0; i < p.columns; ++i) p.grad_bias[i] += bias_sums[block * p.columns + i];
  }
}

template void linear_gradient(const LinearGradient<float>&);
template void linear_gradient(const LinearGradient<BFloat16>&);

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
