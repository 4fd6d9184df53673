// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <variant>
#include <vector>

#include "edgewise/base/profile.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/recurrence/ssru.h"
#include "edgewise/kernels/simd/instruction_set.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/recurrence/ssru_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/gemm/activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

/// HWY_EXPORT exports no templates, so variants hold the types.
using AnySsru = std::variant<const SsruRows<float>*, const SsruRows<BFloat16>*>;
using AnySsruGradient = std::variant<const SsruGradient<float>*, const SsruGradient<BFloat16>*>;

/// Computes the columns [begin, end) of all rows.
template <typename T>
void run_columns(const SsruRows<T>& p, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const T* forget = p.forget + row * p.stride + begin;
    const T* input = p.input + row * p.stride + begin;
    const float* before = p.before[row] == nullptr ? nullptr : p.before[row] + begin;
    float* state = p.state[row] + begin;
    T* out = p.out + row * p.columns + begin;
    for_each_vector(end - begin, [&](std::int64_t n, auto part) HWY_ATTR {
      const Floats zero = hn::Zero(FloatTag());
      const Floats x = load(part, input + n);
      const Floats f = logistic_distribution(load(part, forget + n)).function;
      const Floats last = before == nullptr ? zero : load(part, before + n);
      const Floats next = hn::MulAdd(f, hn::Sub(last, x), x);
      store(part, next, state + n);
      store(part, hn::Max(next, zero), out + n);
    });
  }
}

/// Computes the gradients of the columns [begin, end) of all rows. `later` has at least end - begin elements.
template <typename T>
void run_gradient_columns(const SsruGradient<T>& p, std::int64_t begin, std::int64_t end, float* later) {
  std::fill_n(later, end - begin, 0.0f);  // gradients of the states before the row below
  for (std::int64_t row = p.rows - 1; row >= 0; --row) {
    const std::int64_t first = row * p.columns + begin;
    const bool continues = p.continues[row] != 0;
    for_each_vector(end - begin, [&](std::int64_t n, auto part) HWY_ATTR {
      const Floats zero = hn::Zero(FloatTag());
      const Floats x = load(part, p.input + first + n);
      const auto gate = logistic_distribution(load(part, p.forget + first + n));
      const Floats last = continues ? load(part, p.state + first - p.columns + n) : zero;
      const auto is_on = hn::Gt(load(part, p.state + first + n), zero);
      const Floats from_out = hn::IfThenElseZero(is_on, load(part, p.grad_out + first + n));
      const Floats gradient = hn::Add(load(part, later + n), from_out);
      const Floats through_gate = hn::Mul(gradient, gate.function);
      store(part, hn::Mul(hn::Mul(gradient, hn::Sub(last, x)), gate.density), p.grad_forget + first + n);
      store(part, hn::Sub(gradient, through_gate), p.grad_input + first + n);
      store(part, continues ? through_gate : zero, later + n);
    });
  }
}

void compute_ssru_columns(const AnySsru& any, std::int64_t begin, std::int64_t end) {
  std::visit([=](const auto* p) HWY_ATTR { run_columns(*p, begin, end); }, any);
}

void compute_ssru_gradient_columns(const AnySsruGradient& any, std::int64_t begin, std::int64_t end, float* later) {
  std::visit([=](const auto* p) HWY_ATTR { run_gradient_columns(*p, begin, end, later); }, any);
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels::reference {
namespace {

template <typename State>
State sigmoid(State x) {
  return 1 / (1 + std::exp(-x));
}

}  // namespace

template <typename T>
void ssru(const SsruRows<T>& p) {
  using State = AccumulatorType<T>;
  for (std::int64_t row = 0; row < p.rows; ++row) {
    for (std::int64_t n = 0; n < p.columns; ++n) {
      const State f = sigmoid(static_cast<State>(p.forget[row * p.stride + n]));
      const State x = p.input[row * p.stride + n];
      const State before = p.before[row] == nullptr ? State{0} : p.before[row][n];
      const State state = f * before + (1 - f) * x;
      p.state[row][n] = state;
      p.out[row * p.columns + n] = static_cast<T>(std::max(state, State{0}));
    }
  }
}

template <typename T>
void ssru_gradient(const SsruGradient<T>& p) {
  using State = AccumulatorType<T>;
  for (std::int64_t n = 0; n < p.columns; ++n) {
    State later = 0;  // the gradient of the state before the row below
    for (std::int64_t row = p.rows - 1; row >= 0; --row) {
      const std::int64_t i = row * p.columns + n;
      const State f = sigmoid(static_cast<State>(p.forget[i]));
      const State x = p.input[i];
      const State before = p.continues[row] != 0 ? p.state[i - p.columns] : State{0};
      const State gradient = later + (p.state[i] > 0 ? static_cast<State>(p.grad_out[i]) : State{0});
      p.grad_forget[i] = static_cast<T>(gradient * (before - x) * f * (1 - f));
      p.grad_input[i] = static_cast<T>(gradient * (1 - f));
      later = p.continues[row] != 0 ? gradient * f : State{0};
    }
  }
}

template void ssru(const SsruRows<float>&);
template void ssru(const SsruRows<double>&);
template void ssru(const SsruRows<BFloat16>&);
template void ssru_gradient(const SsruGradient<float>&);
template void ssru_gradient(const SsruGradient<double>&);
template void ssru_gradient(const SsruGradient<BFloat16>&);

}  // namespace edgewise::kernels::reference

namespace edgewise::kernels {
namespace {

// Threads take blocks of this many columns, whole cache lines of each row; a range has at least so many values.
constexpr std::int64_t kBlockColumns = 64;
constexpr std::int64_t kSsruGrain = 8192;

/// Calls body(begin, end) for ranges of columns.
template <class Body>
void for_ssru_columns(std::int64_t rows, std::int64_t columns, const Body& body) {
  const ScopedTimer timer("recurrence");
  const std::int64_t blocks = (columns + kBlockColumns - 1) / kBlockColumns;
  parallel_for(blocks, kSsruGrain / (rows * kBlockColumns + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    body(begin * kBlockColumns, std::min(end * kBlockColumns, columns));
  });
}

}  // namespace

HWY_EXPORT(compute_ssru_columns);
HWY_EXPORT(compute_ssru_gradient_columns);

template <typename T>
void ssru(const SsruRows<T>& p) {
  if (instruction_set() == InstructionSet::kReference) return reference::ssru(p);
  for_ssru_columns(p.rows, p.columns, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(compute_ssru_columns)(&p, begin, end);
  });
}

template <typename T>
void ssru_gradient(const SsruGradient<T>& p) {
  if (instruction_set() == InstructionSet::kReference) return reference::ssru_gradient(p);
  for_ssru_columns(p.rows, p.columns, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> later(static_cast<std::size_t>(end - begin));
    HWY_DYNAMIC_DISPATCH(compute_ssru_gradient_columns)(&p, begin, end, later.data());
  });
}

/// There are no vector kernels for double: the reference computes it.
template <>
void ssru(const SsruRows<double>& p) {
  reference::ssru(p);
}
template <>
void ssru_gradient(const SsruGradient<double>& p) {
  reference::ssru_gradient(p);
}

template void ssru(const SsruRows<float>&);
template void ssru(const SsruRows<BFloat16>&);
template void ssru_gradient(const SsruGradient<float>&);
template void ssru_gradient(const SsruGradient<BFloat16>&);

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
