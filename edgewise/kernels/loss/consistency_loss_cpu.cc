// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <variant>

#include "edgewise/base/bfloat16.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/loss/softmax_loss.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/kernels/simd/scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/loss/consistency_loss_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/loss/softmax-inl.h"
#include "edgewise/kernels/simd/exp-inl.h"
#include "edgewise/kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

/// One pair of rows, and a buffer for their differences.
template <typename Gradient>
struct PairOfRows {
  const ConsistencyLoss<Gradient>& problem;
  std::int64_t pair;
  float* difference;  // [C], d below

  std::int64_t row(int side) const { return side * problem.pairs + pair; }
  float* logits(int side) const { return problem.logits + row(side) * problem.columns; }
};

/// HWY_EXPORT exports no templates, so a variant holds the types.
using AnyConsistencyLoss = std::variant<const ConsistencyLoss<float>*, const ConsistencyLoss<BFloat16>*>;

/// Sums over the tokens of a row, where x = logit - maximum and d = (x of the first row) - (x of the second row).
struct ConsistencySums {
  float x = 0;
  float exp_x = 0;
  float exp_x_d = 0;  // sum of exp(x) * d
};

/// Replaces the logits of both rows by exp(x), and writes d to `difference`.
template <typename Gradient>
void exponentiate(const PairOfRows<Gradient>& p, const float (&maximum)[2], ConsistencySums (&sums)[2]) {
  const FloatTag d;
  float* first = p.logits(0);
  float* second = p.logits(1);
  const Floats first_base = hn::Set(d, maximum[0]);
  const Floats second_base = hn::Set(d, maximum[1]);
  Floats x_0 = hn::Zero(d), exp_x_0 = hn::Zero(d), exp_x_d_0 = hn::Zero(d);
  Floats x_1 = hn::Zero(d), exp_x_1 = hn::Zero(d), exp_x_d_1 = hn::Zero(d);
  for_each_vector(p.problem.columns, [&](std::int64_t i, auto part) HWY_ATTR {
    const Floats first_x = values_or_zero(part, hn::Sub(load(part, first + i), first_base));
    const Floats second_x = values_or_zero(part, hn::Sub(load(part, second + i), second_base));
    const Floats exp_first = values_or_zero(part, exp_lanes(first_x));
    const Floats exp_second = values_or_zero(part, exp_lanes(second_x));
    const Floats difference = hn::Sub(first_x, second_x);
    x_0 = hn::Add(x_0, first_x);
    x_1 = hn::Add(x_1, second_x);
    exp_x_0 = hn::Add(exp_x_0, exp_first);
    exp_x_1 = hn::Add(exp_x_1, exp_second);
    exp_x_d_0 = hn::MulAdd(exp_first, difference, exp_x_d_0);
    exp_x_d_1 = hn::MulAdd(exp_second, difference, exp_x_d_1);
    store(part, exp_first, first + i);
    store(part, exp_second, second + i);
    store(part, difference, p.difference + i);
  });
  sums[0] = {sum_of_lanes(x_0), sum_of_lanes(exp_x_0), sum_of_lanes(exp_x_d_0)};
  sums[1] = {sum_of_lanes(x_1), sum_of_lanes(exp_x_1), sum_of_lanes(exp_x_d_1)};
}

/// Calls body(begin, end, probability) for ranges of tokens with equal target probability.
template <class Body>
void for_targets(const SmoothedTarget& target, std::int64_t label, std::int64_t num_tokens, Body body) {
  const auto other = static_cast<float>(target.other_probability);
  std::int64_t begin = 0;
  const auto visit_token = [&](std::int64_t token, double probability) {
    if (token < 0) return;
    body(begin, token, other);
    body(token, token + 1, static_cast<float>(probability));
    begin = token + 1;
  };
  if (target.ignored_token < label) visit_token(target.ignored_token, 0);
  visit_token(label, target.label_probability);
  if (target.ignored_token > label) visit_token(target.ignored_token, 0);
  body(begin, num_tokens, other);
}

/// Writes the gradients with respect to the logits, where p and q are the probabilities of the first and the second
/// row, d the difference of their logits, and E_p and E_q expected values:
///
///     R-Drop   first row    p - target + weight / 2 (p - q + p (d - E_p[d]))
///              second row   q - target + weight / 2 (q - p - q (d - E_q[d]))
///     SimCut   first row    p - target + weight p (d - E_p[d])
///              second row   weight (q - p)
///
/// `factor` times exp(x) is a probability; `mean` has E_p[d] and E_q[d].
template <ConsistencyKind kKind, typename Gradient>
void write_gradients(const PairOfRows<Gradient>& p, const float (&factor)[2], const float (&mean)[2]) {
  const FloatTag d;
  const float* first = p.logits(0);
  const float* second = p.logits(1);
  Gradient* to_first = p.problem.gradient + p.row(0) * p.problem.columns;
  Gradient* to_second = p.problem.gradient + p.row(1) * p.problem.columns;
  const Floats first_factor = hn::Set(d, factor[0]);
  const Floats second_factor = hn::Set(d, factor[1]);
  const Floats first_mean = hn::Set(d, mean[0]);
  const Floats second_mean = hn::Set(d, mean[1]);
  const Floats weight = hn::Set(d, p.problem.divergence_weight);
  const Floats half_weight = hn::Set(d, p.problem.divergence_weight / 2);
  const auto write = [&](std::int64_t begin, std::int64_t end, float target) {
    const Floats targets = hn::Set(d, target);
    for_each_vector(end - begin, [&](std::int64_t offset, auto part) HWY_ATTR {
      const std::int64_t i = begin + offset;
      const Floats first_p = hn::Mul(load(part, first + i), first_factor);
      const Floats second_p = hn::Mul(load(part, second + i), second_factor);
      const Floats difference = load(part, p.difference + i);
      const Floats p_minus_q = hn::Sub(first_p, second_p);
      if constexpr (kKind == ConsistencyKind::kRDrop) {
        const Floats first_term = hn::MulAdd(first_p, hn::Sub(difference, first_mean), p_minus_q);
        const Floats second_term = hn::MulAdd(second_p, hn::Sub(difference, second_mean), p_minus_q);
        store(part, hn::MulAdd(half_weight, first_term, hn::Sub(first_p, targets)), to_first + i);
        store(part, hn::NegMulAdd(half_weight, second_term, hn::Sub(second_p, targets)), to_second + i);
      } else {
        const Floats first_term = hn::Mul(first_p, hn::Sub(difference, first_mean));
        store(part, hn::MulAdd(weight, first_term, hn::Sub(first_p, targets)), to_first + i);
        store(part, hn::Neg(hn::Mul(weight, p_minus_q)), to_second + i);
      }
    });
  };
  for_targets(p.problem.target, p.problem.labels[p.pair], p.problem.columns, write);
}

template <typename Gradient>
void ignore_pair(const PairOfRows<Gradient>& p) {
  p.problem.divergence[p.pair] = 0;
  for (const int side : {0, 1}) {
    p.problem.loss[p.row(side)] = 0;
    p.problem.is_correct[p.row(side)] = false;
    if (p.problem.gradient == nullptr) continue;
    std::fill_n(p.problem.gradient + p.row(side) * p.problem.columns, p.problem.columns, Gradient(0.0f));
  }
}

template <ConsistencyKind kKind, typename Gradient>
void compute_pair(const PairOfRows<Gradient>& p) {
  const SmoothedTarget& target = p.problem.target;
  const std::int64_t label = p.problem.labels[p.pair];
  if (label == target.ignored_token) return ignore_pair(p);

  float maximum[2];
  float label_x[2];
  float ignored_x[2] = {0, 0};
  for (const int side : {0, 1}) {
    const float* logits = p.logits(side);
    maximum[side] = find_maximum(logits, p.problem.columns);
    label_x[side] = logits[label] - maximum[side];
    if (target.ignored_token >= 0) ignored_x[side] = logits[target.ignored_token] - maximum[side];
    p.problem.is_correct[p.row(side)] = label_x[side] == 0 && find_maximum(logits, label) < maximum[side];
  }

  ConsistencySums sums[2];
  exponentiate(p, maximum, sums);
  float factor[2];
  float mean[2];
  double log_sum[2];
  for (const int side : {0, 1}) {
    factor[side] = 1 / sums[side].exp_x;
    mean[side] = sums[side].exp_x_d * factor[side];
    log_sum[side] = std::log(static_cast<double>(sums[side].exp_x));
    const SoftmaxRow row = {label_x[side], sums[side].x - ignored_x[side], log_sum[side]};
    p.problem.loss[p.row(side)] = static_cast<float>(compute_loss(row, target, p.problem.columns));
  }
  if constexpr (kKind == ConsistencyKind::kRDrop) {
    p.problem.divergence[p.pair] = (mean[0] - mean[1]) / 2;
  } else {
    p.problem.divergence[p.pair] = static_cast<float>(mean[0] - (log_sum[0] - log_sum[1]));
    p.problem.loss[p.row(1)] = 0;
    p.problem.is_correct[p.row(1)] = false;
  }
  if (p.problem.gradient != nullptr) write_gradients<kKind>(p, factor, mean);
}

void compute_consistency_loss_pair(const AnyConsistencyLoss& any, std::int64_t pair, float* difference) {
  std::visit(
      [=]<typename G>(const ConsistencyLoss<G>* p) HWY_ATTR {
        const PairOfRows<G> rows = {*p, pair, difference};
        if (p->kind == ConsistencyKind::kRDrop) {
          compute_pair<ConsistencyKind::kRDrop>(rows);
        } else {
          compute_pair<ConsistencyKind::kSimCut>(rows);
        }
      },
      any);
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels {

HWY_EXPORT(compute_consistency_loss_pair);

template <typename Gradient>
void consistency_loss(const ConsistencyLoss<Gradient>& p) {
  if (instruction_set() == InstructionSet::kReference) return reference::consistency_loss(p);
  const std::int64_t grain = 1 + 2048 / std::max<std::int64_t>(1, p.columns);
  parallel_for(p.pairs, grain, [&](std::int64_t begin, std::int64_t end) {
    Scratch& scratch = Scratch::of_this_thread();
    scratch.reset();
    float* difference = scratch.take(static_cast<std::size_t>(p.columns));
    for (std::int64_t pair = begin; pair < end; ++pair) {
      HWY_DYNAMIC_DISPATCH(compute_consistency_loss_pair)(&p, pair, difference);
    }
  });
}

template void consistency_loss(const ConsistencyLoss<float>&);
template void consistency_loss(const ConsistencyLoss<BFloat16>&);

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
