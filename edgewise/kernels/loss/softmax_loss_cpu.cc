// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/loss/softmax_loss.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "edgewise/base/bfloat16.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/kernels/loss/softmax_loss_reference.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/loss/softmax_loss_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/simd/cast-inl.h"
#include "edgewise/kernels/simd/exp-inl.h"
#include "edgewise/kernels/loss/softmax-inl.h"

#ifndef EDGEWISE_KERNELS_CPU_SOFTMAX_LOSS_CC
#define EDGEWISE_KERNELS_CPU_SOFTMAX_LOSS_CC
namespace edgewise::kernels {

/// One row of a problem.
template <typename Gradient>
struct SoftmaxLossRow {
  const SoftmaxLoss<Gradient>& all;
  std::int64_t row;
};

using AnySoftmaxLossRow = std::variant<SoftmaxLossRow<float>, SoftmaxLossRow<BFloat16>>;

}  // namespace edgewise::kernels
#endif  // EDGEWISE_KERNELS_CPU_SOFTMAX_LOSS_CC

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

struct Sums {
  float distance = 0;     // of values to the maximum
  float exponential = 0;  // of that
};

// Replaces values by exp(value - maximum).
Sums exponentiate(float* values, std::int64_t count, float maximum) {
  const FloatTag d;
  const Floats base = hn::Set(d, maximum);
  Floats distances = hn::Zero(d);
  Floats exponentials = hn::Zero(d);
  for_lanes(count, [&](std::int64_t i, auto part) HWY_ATTR {
    const Floats distance = hn::Sub(load(part, values + i), base);
    const Floats exponential = exp_lanes(distance);
    distances = hn::Add(distances, with_neutral(part, distance, 0));
    exponentials = hn::Add(exponentials, with_neutral(part, exponential, 0));
    store(part, exponential, values + i);
  });
  return {sum_of(distances), sum_of(exponentials)};
}

// to[i] = from[i] * factor - less
template <typename To>
void scale(const float* from, std::int64_t count, float factor, float less, To* to) {
  const FloatTag d;
  const Floats factors = hn::Set(d, factor);
  const Floats lesses = hn::Set(d, less);
  for_lanes(count, [&](std::int64_t i, auto part)
                       HWY_ATTR { store(part, hn::MulSub(load(part, from + i), factors, lesses), to + i); });
}

/// Calls body(begin, end) on the words before the ignored one and on those behind it.
template <class Body>
void for_shares(const SmoothedTarget& target, std::int64_t num_words, Body body) {
  if (target.ignored < 0) return body(std::int64_t{0}, num_words);
  body(std::int64_t{0}, target.ignored);
  body(target.ignored + 1, num_words);
}

template <typename Gradient>
void ignore_row(const SoftmaxLossRow<Gradient>& p) {
  const std::int64_t num_words = p.all.columns;
  p.all.loss[p.row] = 0;
  p.all.is_correct[p.row] = false;
  if (p.all.gradient != nullptr) std::fill_n(p.all.gradient + p.row * num_words, num_words, Gradient(0.0f));
}

template <typename Gradient>
void compute_row(const SoftmaxLossRow<Gradient>& p) {
  const std::int64_t num_words = p.all.columns;
  const SmoothedTarget& target = p.all.target;
  const std::int64_t label = p.all.labels[p.row];
  if (label == target.ignored) return ignore_row(p);

  float* logits = p.all.logits + p.row * num_words;
  const float maximum = maximum_of(logits, num_words);
  const float of_label = logits[label] - maximum;
  p.all.is_correct[p.row] = of_label == 0 && maximum_of(logits, label) < maximum;

  Sums sums;
  if (target.ignored >= 0) {
    float& ignored = logits[target.ignored];
    ignored = std::exp(ignored - maximum);
    sums.exponential = ignored;
  }
  for_shares(target, num_words, [&](std::int64_t begin, std::int64_t end) {
    const Sums part = exponentiate(logits + begin, end - begin, maximum);
    sums.distance += part.distance;
    sums.exponential += part.exponential;
  });

  const SoftmaxRow row = {of_label, sums.distance, std::log(static_cast<double>(sums.exponential))};
  p.all.loss[p.row] = static_cast<float>(loss_of(row, target, num_words));

  if (p.all.gradient == nullptr) return;
  Gradient* gradient = p.all.gradient + p.row * num_words;
  const float factor = 1 / sums.exponential;
  const float of_label_gradient = logits[label] * factor - static_cast<float>(target.label);
  if (target.ignored >= 0) gradient[target.ignored] = Gradient(logits[target.ignored] * factor);
  for_shares(target, num_words, [&](std::int64_t begin, std::int64_t end) {
    scale(logits + begin, end - begin, factor, static_cast<float>(target.share), gradient + begin);
  });
  gradient[label] = Gradient(of_label_gradient);
}

void softmax_loss_row(const AnySoftmaxLossRow& row) {
  std::visit([](const auto& typed) HWY_ATTR { compute_row(typed); }, row);
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels {

HWY_EXPORT(softmax_loss_row);

template <typename Gradient>
void softmax_loss(const SoftmaxLoss<Gradient>& p) {
  if (instruction_set() == InstructionSet::kReference) return reference::softmax_loss(p);
  const std::int64_t grain = 1 + 4096 / std::max<std::int64_t>(1, p.columns);
  parallel_for(p.rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      HWY_DYNAMIC_DISPATCH(softmax_loss_row)(SoftmaxLossRow<Gradient>{p, row});
    }
  });
}

template void softmax_loss(const SoftmaxLoss<float>&);
template void softmax_loss(const SoftmaxLoss<BFloat16>&);

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
