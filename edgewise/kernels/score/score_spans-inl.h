// SPDX-License-Identifier: Apache-2.0
// The machine of score_program.h for spans of scores: each instruction handles a whole span, which stays in the
// first-level cache. Compiled once for each instruction set.
#if defined(EDGEWISE_KERNELS_SCORE_SCORE_SPANS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_SCORE_SCORE_SPANS_INL_H
#undef EDGEWISE_KERNELS_SCORE_SCORE_SPANS_INL_H
#else
#define EDGEWISE_KERNELS_SCORE_SCORE_SPANS_INL_H
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "edgewise/kernels/score/score_program.h"
#include "edgewise/kernels/simd/exp-inl.h"
#include "edgewise/kernels/simd/scratch.h"
#include "edgewise/kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {

/// The most scores of a span: a register takes 2 KiB.
inline constexpr std::int64_t kScoreSpan = 512;

/// Returns exp(x) for every x: 0 far below 0, infinity above 88.7, NaN for NaN.
HWY_INLINE Floats exp_of_any(Floats x) {
  const FloatTag d;
  // exp_lanes() takes numbers up to 88, so that exp(x) is exp(x - 64) exp(64) for larger ones.
  const auto is_large = hn::Gt(x, hn::Set(d, 88.0f));
  const auto reduced = hn::IfThenElse(is_large, hn::Sub(x, hn::Set(d, 64.0f)), x);
  const auto bounded = hn::IfThenElse(hn::Gt(reduced, hn::Set(d, 88.0f)), hn::Set(d, 88.0f), reduced);
  const auto result = exp_lanes(bounded);
  return hn::IfThenElse(is_large, hn::Mul(result, hn::Set(d, 6.2351490808116168829e27f)), result);
}

/// Returns log(x) for every x: -infinity for 0, NaN below 0 and for NaN, infinity for infinity.
HWY_INLINE Floats log_of_any(Floats x) {
  const FloatTag d;
  const auto infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  const auto is_finite = hn::And(hn::Gt(x, hn::Zero(d)), hn::Lt(x, infinity));
  const auto result = hn::Log(d, hn::IfThenElse(is_finite, x, hn::Set(d, 1.0f)));
  const auto is_zero = hn::Eq(x, hn::Zero(d));
  // infinity - infinity, and NaN plus anything, are NaN.
  const auto special = hn::IfThenElse(is_zero, hn::Neg(infinity),
                                      hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Sub(infinity, infinity), x));
  return hn::IfThenElse(is_finite, result, special);
}

/// Returns 1 / (1 + exp(-x)).
HWY_INLINE Floats sigmoid_lanes(Floats x) {
  const FloatTag d;
  const auto one = hn::Set(d, 1.0f);
  const auto bounded = hn::IfThenElse(hn::Lt(x, hn::Set(d, -88.0f)), hn::Set(d, -88.0f), x);
  return hn::Div(one, hn::Add(one, exp_lanes(hn::Neg(bounded))));
}

/// Returns tanh(x), with an error of at most 4 units in the last place; NaN for NaN.
HWY_INLINE Floats tanh_lanes(Floats x) {
  const FloatTag d;
  const auto one = hn::Set(d, 1.0f);
  const auto magnitude = hn::Abs(x);
  // Up to 0.6: x + x^3 p(x^2), where p is (tanh(x) / x - 1) / x^2 interpolated at Chebyshev's nodes.
  const auto square = hn::Mul(x, x);
  auto power = hn::MulAdd(hn::Set(d, -0x1.9ad0c2p-8f), square, hn::Set(d, 0x1.59e042p-6f));
  power = hn::MulAdd(power, square, hn::Set(d, -0x1.b955b6p-5f));
  power = hn::MulAdd(power, square, hn::Set(d, 0x1.110eep-3f));
  power = hn::MulAdd(power, square, hn::Set(d, -0x1.555554p-2f));
  const auto small = hn::MulAdd(hn::Mul(x, square), power, x);
  // From 0.6 on: 1 - 2 / (exp(2 |x|) + 1), which is 1 for |x| above 10.
  const auto bounded = hn::IfThenElse(hn::Gt(magnitude, hn::Set(d, 10.0f)), hn::Set(d, 10.0f), magnitude);
  const auto exponential = exp_lanes(hn::Add(bounded, bounded));
  const auto large = hn::Sub(one, hn::Div(hn::Set(d, 2.0f), hn::Add(exponential, one)));
  return hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.6f)), small, hn::CopySign(large, x));
}

/// Returns the indices of ScoreOp::kLookup for a table of `size` numbers.
HWY_INLINE hn::Vec<hn::RebindToSigned<FloatTag>> lookup_indices(Floats x, std::int64_t size) {
  const FloatTag d;
  const auto zero = hn::Zero(d);
  const auto last = hn::Set(d, static_cast<float>(size - 1));
  const auto positive = hn::IfThenElse(hn::Gt(x, zero), x, zero);  // 0 for NaN
  return hn::ConvertTo(hn::RebindToSigned<FloatTag>(), hn::IfThenElse(hn::Lt(positive, last), positive, last));
}

/// Runs a list on spans. Registers and constants are in this thread's Scratch.
class ScoreMachine {
 public:
  explicit ScoreMachine(const ScoreList& list) : list_(list) {
    Scratch& scratch = Scratch::of_this_thread();
    registers_ = scratch.take(static_cast<std::size_t>(list.num_registers * kScoreSpan));
    constants_ = scratch.take(list.constants.size() * kLanes);
    for (std::size_t i = 0; i < list.constants.size(); ++i) {
      std::fill_n(constants_ + i * kLanes, kLanes, static_cast<float>(list.constants[i]));
    }
  }

  /// Runs the list on `count` scores, whole vectors of at most kScoreSpan. `Access` has the functions
  ///
  ///     void load_product(float* to);
  ///     void load_column(column, float* to);
  ///     void load_gradient(float* to);
  ///     const float* table(column);
  ///     std::int64_t table_size(column);
  ///     void store(column, float* gradient);
  ///     void store_looked_up(column, const float* index, float* gradient);
  ///
  /// which handle `count` numbers; store() may change the gradients of scores without an edge.
  template <class Access>
  void run(std::int64_t count, Access& access) {
    const FloatTag d;
    for (const ScoreInstruction& i : list_.instructions) {
      float* out = registers_ + i.out * kScoreSpan;
      switch (i.op) {
        case ScoreOp::kConstant:
          std::fill_n(out, count, static_cast<float>(list_.constants[~i.in[0]]));
          break;
        case ScoreOp::kProduct:
          access.load_product(out);
          break;
        case ScoreOp::kColumn:
          access.load_column(i.column, out);
          break;
        case ScoreOp::kGradient:
          access.load_gradient(out);
          break;
        case ScoreOp::kAdd:
          for_pairs(i, count, out, [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
          break;
        case ScoreOp::kSubtract:
          for_pairs(i, count, out, [](auto a, auto b) HWY_ATTR { return hn::Sub(a, b); });
          break;
        case ScoreOp::kMultiply:
          for_pairs(i, count, out, [](auto a, auto b) HWY_ATTR { return hn::Mul(a, b); });
          break;
        case ScoreOp::kDivide:
          for_pairs(i, count, out, [](auto a, auto b) HWY_ATTR { return hn::Div(a, b); });
          break;
        case ScoreOp::kAbs:
          for_each(i, count, out, [](auto a) HWY_ATTR { return hn::Abs(a); });
          break;
        case ScoreOp::kExp:
          for_each(i, count, out, [](auto a) HWY_ATTR { return exp_of_any(a); });
          break;
        case ScoreOp::kLog:
          for_each(i, count, out, [](auto a) HWY_ATTR { return log_of_any(a); });
          break;
        case ScoreOp::kTanh:
          for_each(i, count, out, [](auto a) HWY_ATTR { return tanh_lanes(a); });
          break;
        case ScoreOp::kSigmoid:
          for_each(i, count, out, [](auto a) HWY_ATTR { return sigmoid_lanes(a); });
          break;
        case ScoreOp::kFloor:
          for_each(i, count, out, [](auto a) HWY_ATTR { return hn::Floor(a); });
          break;
        case ScoreOp::kSelectLess:
          select(i, count, out, [](auto a, auto b) HWY_ATTR { return hn::Lt(a, b); });
          break;
        case ScoreOp::kSelectLessEqual:
          select(i, count, out, [](auto a, auto b) HWY_ATTR { return hn::Le(a, b); });
          break;
        case ScoreOp::kSelectEqual:
          select(i, count, out, [](auto a, auto b) HWY_ATTR { return hn::Eq(a, b); });
          break;
        case ScoreOp::kLookup: {
          const float* table = access.table(i.column);
          const std::int64_t size = access.table_size(i.column);
          for_each(i, count, out, [&](auto a) HWY_ATTR { return hn::GatherIndex(d, table, lookup_indices(a, size)); });
          break;
        }
        case ScoreOp::kStore:
          access.store(i.column, registers_ + i.in[0] * kScoreSpan);
          break;
        case ScoreOp::kStoreLookedUp:
          access.store_looked_up(i.column, registers_ + i.in[0] * kScoreSpan, registers_ + i.in[1] * kScoreSpan);
          break;
      }
    }
  }

  /// Returns the scores after a run of a forward list.
  const float* result() const { return registers_ + list_.result * kScoreSpan; }

 private:
  // An argument of an instruction: numbers, or one vector for all numbers.
  struct Operand {
    const float* data;
    std::int64_t step;

    HWY_INLINE Floats at(std::int64_t i) const { return hn::LoadU(FloatTag(), data + i * step); }
  };

  Operand operand(ScoreOperand in) const {
    if (in < 0) return {constants_ + ~in * kLanes, 0};
    return {registers_ + in * kScoreSpan, 1};
  }

  template <class Fn>
  HWY_INLINE void for_each(const ScoreInstruction& instruction, std::int64_t count, float* out, Fn fn) const {
    const Operand a = operand(instruction.in[0]);
    for (std::int64_t i = 0; i < count; i += kLanes) hn::StoreU(fn(a.at(i)), FloatTag(), out + i);
  }

  template <class Fn>
  HWY_INLINE void for_pairs(const ScoreInstruction& instruction, std::int64_t count, float* out, Fn fn) const {
    const Operand a = operand(instruction.in[0]);
    const Operand b = operand(instruction.in[1]);
    for (std::int64_t i = 0; i < count; i += kLanes) hn::StoreU(fn(a.at(i), b.at(i)), FloatTag(), out + i);
  }

  template <class Compare>
  HWY_INLINE void select(const ScoreInstruction& instruction, std::int64_t count, float* out, Compare compare) const {
    const Operand a = operand(instruction.in[0]);
    const Operand b = operand(instruction.in[1]);
    const Operand c = operand(instruction.in[2]);
    const Operand d = operand(instruction.in[3]);
    for (std::int64_t i = 0; i < count; i += kLanes) {
      hn::StoreU(hn::IfThenElse(compare(a.at(i), b.at(i)), c.at(i), d.at(i)), FloatTag(), out + i);
    }
  }

  const ScoreList& list_;
  float* registers_;
  float* constants_;
};

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EDGEWISE_KERNELS_SCORE_SCORE_SPANS_INL_H
