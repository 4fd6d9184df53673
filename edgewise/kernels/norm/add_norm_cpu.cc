// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <variant>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/norm/add_norm.h"
#include "edgewise/kernels/simd/instruction_set.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/norm/add_norm_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/dropout/dropout-inl.h"
#include "edgewise/kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

// HWY_EXPORT exports no templates, so variants hold the types.
using AnyAddDropout =
    std::variant<AddDropout<float, float>, AddDropout<float, BFloat16>, AddDropout<BFloat16, BFloat16>>;

using AnyAddNormForward =
    std::variant<AddNormForward<float, float, float>, AddNormForward<float, float, BFloat16>,
                 AddNormForward<float, BFloat16, float>, AddNormForward<float, BFloat16, BFloat16>,
                 AddNormForward<BFloat16, BFloat16, float>, AddNormForward<BFloat16, BFloat16, BFloat16>>;

template <typename X, typename Y>
HWY_INLINE void add_with_dropout(const DropoutFactors& factors, std::int64_t begin, std::int64_t end, const X* x,
                                 const Y* y, X* sum) {
  for_lanes_with_dropout(factors, begin, end, [&](std::int64_t i, auto part, Floats factor) HWY_ATTR {
    store(part, hn::Add(load(part, x + i), hn::Mul(load(part, y + i), factor)), sum + i);
  });
}

template <typename X>
HWY_INLINE float compute_mean(const X* row_M, std::int64_t size) {
  const float total = sum_values(size, [&](std::int64_t i, auto part) HWY_ATTR { return load(part, row_M + i); });
  return total / static_cast<float>(size);
}

template <typename X>
HWY_INLINE float compute_deviation(const X* row_M, std::int64_t size, float mean, const NormFormula& formula) {
  const Floats means = hn::Set(FloatTag(), mean);
  const float squares = sum_values(size, [&](std::int64_t i, auto part) HWY_ATTR {
    const Floats centred = hn::Sub(load(part, row_M + i), means);
    return hn::Mul(centred, centred);
  });
  return std::sqrt(squares / static_cast<float>(formula.divisor) + static_cast<float>(formula.epsilon_inside));
}

template <typename X, typename Y, typename N>
HWY_INLINE void norm_row(const AddNormForward<X, Y, N>& p, std::int64_t row) {
  const X* sum_M = (p.y == nullptr ? p.x : p.sum) + row * p.size;
  N* normed_M = p.normed + row * p.size;
  p.mean[row] = p.formula.is_centred ? compute_mean(sum_M, p.size) : 0.0f;
  p.deviation[row] = compute_deviation(sum_M, p.size, p.mean[row], p.formula);

  const Floats mean = hn::Set(FloatTag(), p.mean[row]);
  const Floats inverse = hn::Set(FloatTag(), p.formula.inverse_deviation(p.deviation[row]));
  const auto normed_at = [&](std::int64_t i, auto part)
                             HWY_ATTR { return hn::Mul(hn::Sub(load(part, sum_M + i), mean), inverse); };
  if (p.bias == nullptr) {
    for_each_vector(p.size, [&](std::int64_t i, auto part) HWY_ATTR {
      store(part, hn::Mul(normed_at(i, part), load(part, p.gain + i)), normed_M + i);
    });
    return;
  }
  for_each_vector(p.size, [&](std::int64_t i, auto part) HWY_ATTR {
    store(part, hn::MulAdd(normed_at(i, part), load(part, p.gain + i), load(part, p.bias + i)), normed_M + i);
  });
}

template <typename X, typename Y, typename N>
HWY_INLINE void add_norm_rows(const AddNormForward<X, Y, N>& p, std::int64_t begin, std::int64_t end) {
  const DropoutFactors factors(p.dropout);
  for (std::int64_t row = begin; row < end; ++row) {
    if (p.y != nullptr) add_with_dropout(factors, row * p.size, (row + 1) * p.size, p.x, p.y, p.sum);
    norm_row(p, row);
  }
}

void add_dropout_to_range(const AnyAddDropout& any, std::int64_t begin, std::int64_t end) {
  std::visit([=](const auto& p) HWY_ATTR { add_with_dropout(DropoutFactors(p.dropout), begin, end, p.x, p.y, p.sum); },
             any);
}

void compute_add_norm_rows(const AnyAddNormForward& any, std::int64_t begin, std::int64_t end) {
  std::visit([=](const auto& p) HWY_ATTR { add_norm_rows(p, begin, end); }, any);
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels {

HWY_EXPORT(add_dropout_to_range);
HWY_EXPORT(compute_add_norm_rows);

constexpr std::int64_t kGrain = 8192;  // values per range, at least

template <typename X, typename Y>
void add_dropout(const AddDropout<X, Y>& p) {
  if (instruction_set() == InstructionSet::kReference) return reference::add_dropout(p);
  parallel_for(p.count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(add_dropout_to_range)(p, begin, end);
  });
}

template <typename X, typename Y, typename N>
void add_norm_forward(const AddNormForward<X, Y, N>& p) {
  if (instruction_set() == InstructionSet::kReference) return reference::add_norm_forward(p);
  parallel_for(p.num_rows, kGrain / (p.size + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(compute_add_norm_rows)(p, begin, end);
  });
}

/// There are no vector kernels for double: the reference computes these cases.
template <>
void add_dropout(const AddDropout<double, double>& p) {
  reference::add_dropout(p);
}

template <>
void add_norm_forward(const AddNormForward<double, double, double>& p) {
  reference::add_norm_forward(p);
}

template void add_dropout(const AddDropout<float, float>&);
template void add_dropout(const AddDropout<float, BFloat16>&);
template void add_dropout(const AddDropout<BFloat16, BFloat16>&);
template void add_norm_forward(const AddNormForward<float, float, float>&);
template void add_norm_forward(const AddNormForward<float, float, BFloat16>&);
template void add_norm_forward(const AddNormForward<float, BFloat16, float>&);
template void add_norm_forward(const AddNormForward<float, BFloat16, BFloat16>&);
template void add_norm_forward(const AddNormForward<BFloat16, BFloat16, float>&);
template void add_norm_forward(const AddNormForward<BFloat16, BFloat16, BFloat16>&);

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
