// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <variant>

#include "edgewise/base/bfloat16.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/loss/softmax_loss.h"
#include "edgewise/kernels/simd/instruction_set.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/loss/softmax_loss_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/loss/softmax-inl.h"
#include "edgewise/kernels/simd/exp-inl.h"
#include "edgewise/kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

/// HWY_EXPORT exports no templates, so a variant holds the types.
using AnySoftmaxLoss = std::variant<const SoftmaxLoss<float>*, const SoftmaxLoss<BFloat16>*>;

/// Sums over tokens, where x = logit - maximum.
struct Sums {
  float x = 0;
  float exp_x = 0;
};

/// Replaces logits by exp(logit - maximum).
Sums exponentiate(float* logits, std::int64_t count, float maximum) {
  const FloatTag d;
  const Floats base = hn::Set(d, maximum);
  Floats sum_x = hn::Zero(d);
  Floats sum_exp_x = hn::Zero(d);
  for_each_vector(count, [&](std::int64_t i, auto part) HWY_ATTR {
    const Floats x = hn::Sub(load(part, logits + i), base);
    const Floats exp_x = exp_lanes(x);
    sum_x = hn::Add(sum_x, values_or_zero(part, x));
    sum_exp_x = hn::Add(sum_exp_x, values_or_zero(part, exp_x));
    store(part, exp_x, logits + i);
  });
  return {sum_of_lanes(sum_x), sum_of_lanes(sum_exp_x)};
}

/// Writes to[i] = from[i] * factor - subtrahend.
template <typename To>
void scale_and_subtract(const float* from, std::int64_t count, float factor, float subtrahend, To* to) {
  const FloatTag d;
  const Floats factors = hn::Set(d, factor);
  const Floats subtrahends = hn::Set(d, subtrahend);
  for_each_vector(count, [&](std::int64_t i, auto part)
                             HWY_ATTR { store(part, hn::MulSub(load(part, from + i), factors, subtrahends), to + i); });
}

/// Calls body(begin, end) for the tokens before the ignored token and for the tokens after it.
template <class Body>
void for_tokens_not_ignored(const SmoothedTarget& target, std::int64_t num_tokens, Body body) {
  if (target.ignored_token < 0) return body(std::int64_t{0}, num_tokens);
  body(std::int64_t{0}, target.ignored_token);
  body(target.ignored_token + 1, num_tokens);
}

template <typename Gradient>
void ignore_row(const SoftmaxLoss<Gradient>& p, std::int64_t row) {
  const std::int64_t num_tokens = p.columns;
  p.loss[row] = 0;
  p.is_correct[row] = false;
  if (p.gradient != nullptr) std::fill_n(p.gradient + row * num_tokens, num_tokens, Gradient(0.0f));
}

template <typename Gradient>
void compute_row(const SoftmaxLoss<Gradient>& p, std::int64_t row) {
  const std::int64_t num_tokens = p.columns;
  const SmoothedTarget& target = p.target;
  const std::int64_t label = p.labels[row];
  if (label == target.ignored_token) return ignore_row(p, row);

  float* logits = p.logits + row * num_tokens;
  const float maximum = find_maximum(logits, num_tokens);
  const float label_x = logits[label] - maximum;
  p.is_correct[row] = label_x == 0 && find_maximum(logits, label) < maximum;

  Sums sums;
  if (target.ignored_token >= 0) {
    float& ignored = logits[target.ignored_token];
    ignored = std::exp(ignored - maximum);
    sums.exp_x = ignored;
  }
  for_tokens_not_ignored(target, num_tokens, [&](std::int64_t begin, std::int64_t end) {
    const Sums part = exponentiate(logits + begin, end - begin, maximum);
    sums.x += part.x;
    sums.exp_x += part.exp_x;
  });

  const SoftmaxRow statistics = {label_x, sums.x, std::log(static_cast<double>(sums.exp_x))};
  p.loss[row] = static_cast<float>(compute_loss(statistics, target, num_tokens));

  if (p.gradient == nullptr) return;
  Gradient* gradient = p.gradient + row * num_tokens;
  const float factor = 1 / sums.exp_x;
  const float label_gradient = logits[label] * factor - static_cast<float>(target.label_probability);
  if (target.ignored_token >= 0) gradient[target.ignored_token] = Gradient(logits[target.ignored_token] * factor);
  for_tokens_not_ignored(target, num_tokens, [&](std::int64_t begin, std::int64_t end) {
    scale_and_subtract(logits + begin, end - begin, factor, static_cast<float>(target.other_probability),
                       gradient + begin);
  });
  gradient[label] = Gradient(label_gradient);
}

void compute_softmax_loss_row(const AnySoftmaxLoss& any, std::int64_t row) {
  std::visit([row](const auto* p) HWY_ATTR { compute_row(*p, row); }, any);
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels {

HWY_EXPORT(compute_softmax_loss_row);

template <typename Gradient>
void softmax_loss(const SoftmaxLoss<Gradient>& p) {
  if (instruction_set() == InstructionSet::kReference) return reference::softmax_loss(p);
  const std::int64_t grain = 1 + 4096 / std::max<std::int64_t>(1, p.columns);
  parallel_for(p.rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      HWY_DYNAMIC_DISPATCH(compute_softmax_loss_row)(&p, row);
    }
  });
}

template void softmax_loss(const SoftmaxLoss<float>&);
template void softmax_loss(const SoftmaxLoss<BFloat16>&);

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
