// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/loss/paired_loss.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "edgewise/base/bfloat16.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/simd/scratch.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/kernels/loss/paired_loss_reference.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/loss/paired_loss_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/simd/cast-inl.h"
#include "edgewise/kernels/simd/exp-inl.h"
#include "edgewise/kernels/loss/softmax-inl.h"

#ifndef EDGEWISE_KERNELS_CPU_PAIRED_LOSS_CC
#define EDGEWISE_KERNELS_CPU_PAIRED_LOSS_CC
namespace edgewise::kernels {

/// One pair of a problem, and room for its differences.
template <typename Gradient>
struct PairOfRows {
  const PairedLoss<Gradient>& all;
  std::int64_t pair;
  float* difference;  // [C]

  std::int64_t row(int side) const { return side * all.pairs + pair; }
  float* logits(int side) const { return all.logits + row(side) * all.columns; }
};

using AnyPairOfRows = std::variant<PairOfRows<float>, PairOfRows<BFloat16>>;

}  // namespace edgewise::kernels
#endif  // EDGEWISE_KERNELS_CPU_PAIRED_LOSS_CC

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

/// Of a row's words; an exponential is exp(logit - the row's maximum).
struct Sums {
  float distance = 0;  // of logits to the maximum
  float exponential = 0;
  float difference = 0;  // of exponential times difference
};

/// Replaces the logits of both rows by their exponentials, and writes how much further from its maximum the second
/// row's logit is than the first's.
template <typename Gradient>
void exponentiate(const PairOfRows<Gradient>& p, const float (&maximum)[2], Sums (&sums)[2]) {
  const FloatTag d;
  float* first = p.logits(0);
  float* second = p.logits(1);
  const Floats first_base = hn::Set(d, maximum[0]);
  const Floats second_base = hn::Set(d, maximum[1]);
  Floats distance_0 = hn::Zero(d), exponential_0 = hn::Zero(d), difference_0 = hn::Zero(d);
  Floats distance_1 = hn::Zero(d), exponential_1 = hn::Zero(d), difference_1 = hn::Zero(d);
  for_lanes(p.all.columns, [&](std::int64_t i, auto part) HWY_ATTR {
    const Floats of_first = with_neutral(part, hn::Sub(load(part, first + i), first_base), 0);
    const Floats of_second = with_neutral(part, hn::Sub(load(part, second + i), second_base), 0);
    const Floats exp_first = with_neutral(part, exp_lanes(of_first), 0);
    const Floats exp_second = with_neutral(part, exp_lanes(of_second), 0);
    const Floats difference = hn::Sub(of_first, of_second);
    distance_0 = hn::Add(distance_0, of_first);
    distance_1 = hn::Add(distance_1, of_second);
    exponential_0 = hn::Add(exponential_0, exp_first);
    exponential_1 = hn::Add(exponential_1, exp_second);
    difference_0 = hn::MulAdd(exp_first, difference, difference_0);
    difference_1 = hn::MulAdd(exp_second, difference, difference_1);
    store(part, exp_first, first + i);
    store(part, exp_second, second + i);
    store(part, difference, p.difference + i);
  });
  sums[0] = {sum_of(distance_0), sum_of(exponential_0), sum_of(difference_0)};
  sums[1] = {sum_of(distance_1), sum_of(exponential_1), sum_of(difference_1)};
}

/// Calls body(begin, end, probability) on ranges of words to which the target gives the same.
template <class Body>
void for_targets(const SmoothedTarget& target, std::int64_t label, std::int64_t num_words, Body body) {
  const auto share = static_cast<float>(target.share);
  std::int64_t begin = 0;
  const auto single = [&](std::int64_t word, double probability) {
    if (word < 0) return;
    body(begin, word, share);
    body(word, word + 1, static_cast<float>(probability));
    begin = word + 1;
  };
  if (target.ignored < label) single(target.ignored, 0);
  single(label, target.label);
  if (target.ignored > label) single(target.ignored, 0);
  body(begin, num_words, share);
}

/// With p and q for the probabilities, d for the difference of their logits, E for a mean by them:
///
///     gradient of the first   p - target + weight / 2 (p - q + p (d - E_p[d]))
///     of the second           q - target + weight / 2 (q - p - q (d - E_q[d]))
template <typename Gradient>
void write_gradients(const PairOfRows<Gradient>& p, const float (&factor)[2], const float (&mean)[2]) {
  const FloatTag d;
  const float* first = p.logits(0);
  const float* second = p.logits(1);
  Gradient* to_first = p.all.gradient + p.row(0) * p.all.columns;
  Gradient* to_second = p.all.gradient + p.row(1) * p.all.columns;
  const Floats first_factor = hn::Set(d, factor[0]);
  const Floats second_factor = hn::Set(d, factor[1]);
  const Floats first_mean = hn::Set(d, mean[0]);
  const Floats second_mean = hn::Set(d, mean[1]);
  const Floats half_weight = hn::Set(d, p.all.weight / 2);
  const auto write = [&](std::int64_t begin, std::int64_t end, float target) {
    const Floats targets = hn::Set(d, target);
    for_lanes(end - begin, [&](std::int64_t offset, auto part) HWY_ATTR {
      const std::int64_t i = begin + offset;
      const Floats of_first = hn::Mul(load(part, first + i), first_factor);
      const Floats of_second = hn::Mul(load(part, second + i), second_factor);
      const Floats difference = load(part, p.difference + i);
      const Floats apart = hn::Sub(of_first, of_second);
      const Floats pull_first = hn::MulAdd(of_first, hn::Sub(difference, first_mean), apart);
      const Floats pull_second = hn::MulAdd(of_second, hn::Sub(difference, second_mean), apart);
      store(part, hn::MulAdd(half_weight, pull_first, hn::Sub(of_first, targets)), to_first + i);
      store(part, hn::NegMulAdd(half_weight, pull_second, hn::Sub(of_second, targets)), to_second + i);
    });
  };
  for_targets(p.all.target, p.all.labels[p.pair], p.all.columns, write);
}

template <typename Gradient>
void ignore_pair(const PairOfRows<Gradient>& p) {
  p.all.distance[p.pair] = 0;
  for (const int side : {0, 1}) {
    p.all.loss[p.row(side)] = 0;
    p.all.is_correct[p.row(side)] = false;
    if (p.all.gradient == nullptr) continue;
    std::fill_n(p.all.gradient + p.row(side) * p.all.columns, p.all.columns, Gradient(0.0f));
  }
}

template <typename Gradient>
void compute_pair(const PairOfRows<Gradient>& p) {
  const SmoothedTarget& target = p.all.target;
  const std::int64_t label = p.all.labels[p.pair];
  if (label == target.ignored) return ignore_pair(p);

  float maximum[2];
  float of_label[2];
  float of_ignored[2] = {0, 0};
  for (const int side : {0, 1}) {
    const float* logits = p.logits(side);
    maximum[side] = maximum_of(logits, p.all.columns);
    of_label[side] = logits[label] - maximum[side];
    if (target.ignored >= 0) of_ignored[side] = logits[target.ignored] - maximum[side];
    p.all.is_correct[p.row(side)] = of_label[side] == 0 && maximum_of(logits, label) < maximum[side];
  }

  Sums sums[2];
  exponentiate(p, maximum, sums);
  float factor[2];
  float mean[2];
  for (const int side : {0, 1}) {
    factor[side] = 1 / sums[side].exponential;
    mean[side] = sums[side].difference * factor[side];
    const SoftmaxRow row = {of_label[side], sums[side].distance - of_ignored[side],
                            std::log(static_cast<double>(sums[side].exponential))};
    p.all.loss[p.row(side)] = static_cast<float>(loss_of(row, target, p.all.columns));
  }
  p.all.distance[p.pair] = (mean[0] - mean[1]) / 2;
  if (p.all.gradient != nullptr) write_gradients(p, factor, mean);
}

void paired_loss_pair(const AnyPairOfRows& pair) {
  std::visit([](const auto& typed) HWY_ATTR { compute_pair(typed); }, pair);
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels {

HWY_EXPORT(paired_loss_pair);

template <typename Gradient>
void paired_loss(const PairedLoss<Gradient>& p) {
  if (instruction_set() == InstructionSet::kReference) return reference::paired_loss(p);
  const std::int64_t grain = 1 + 2048 / std::max<std::int64_t>(1, p.columns);
  parallel_for(p.pairs, grain, [&](std::int64_t begin, std::int64_t end) {
    Scratch& scratch = Scratch::of_this_thread();
    scratch.reset();
    float* difference = scratch.take(static_cast<std::size_t>(p.columns));
    for (std::int64_t pair = begin; pair < end; ++pair) {
      HWY_DYNAMIC_DISPATCH(paired_loss_pair)(PairOfRows<Gradient>{p, pair, difference});
    }
  });
}

template void paired_loss(const PairedLoss<float>&);
template void paired_loss(const PairedLoss<BFloat16>&);

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
