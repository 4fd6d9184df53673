// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>
#include <variant>
#include <vector>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/gemm/gated_activation.h"
#include "edgewise/kernels/simd/instruction_set.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/gemm/gated_activation_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/dropout/dropout-inl.h"
#include "edgewise/kernels/gemm/activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

/// HWY_EXPORT exports no templates, so variants hold the types.
using AnyGated = std::variant<const GatedActivation<float>*, const GatedActivation<BFloat16>*>;
using AnyGatedGradient = std::variant<const GatedActivationGradient<float>*, const GatedActivationGradient<BFloat16>*>;

template <GemmActivation kActivation, typename T>
void gate_values(const GatedActivation<T>& p, std::int64_t begin, std::int64_t end) {
  for_lanes_with_dropout(DropoutFactors(p.dropout), begin, end, [&](std::int64_t i, auto part, Floats factor) HWY_ATTR {
    const Floats gate = activate_lanes<kActivation>(load(part, p.gate + i)).value;
    store(part, hn::Mul(hn::Mul(gate, load(part, p.x + i)), factor), p.out + i);
  });
}

template <GemmActivation kActivation, typename T>
void gate_gradients(const GatedActivationGradient<T>& p, std::int64_t begin, std::int64_t end) {
  for_lanes_with_dropout(DropoutFactors(p.dropout), begin, end, [&](std::int64_t i, auto part, Floats factor) HWY_ATTR {
    const Floats gradient = hn::Mul(load(part, p.grad_out + i), factor);
    const ActivatedLanes gate = activate_lanes<kActivation>(load(part, p.gate + i));
    const Floats x = load(part, p.x + i);
    store(part, hn::Mul(gradient, gate.value), p.grad_x + i);
    store(part, hn::Mul(hn::Mul(gradient, x), gate.derivative), p.grad_gate + i);
  });
}

void compute_gated_range(const AnyGated& any, std::int64_t begin, std::int64_t end) {
  std::visit(
      [=](const auto* p) HWY_ATTR {
        with_activation(p->activation, [=](auto constant) HWY_ATTR { gate_values<constant>(*p, begin, end); });
      },
      any);
}

void compute_gated_gradient_range(const AnyGatedGradient& any, std::int64_t begin, std::int64_t end) {
  std::visit(
      [=](const auto* p) HWY_ATTR {
        with_activation(p->activation, [=](auto constant) HWY_ATTR { gate_gradients<constant>(*p, begin, end); });
      },
      any);
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels::reference {
namespace {

/// Returns the value of an activation and its derivative.
std::pair<double, double> activate_with_derivative(double x, GemmActivation activation) {
  constexpr double kPi = std::numbers::pi;
  switch (activation) {
    case GemmActivation::kNone:
      return {x, 1};
    case GemmActivation::kRelu:
      return {x > 0 ? x : 0, x > 0 ? 1 : 0};
    case GemmActivation::kGelu: {
      const double function = 0.5 * (1 + std::erf(x / std::numbers::sqrt2));
      return {x * function, function + x * std::exp(-0.5 * x * x) / std::sqrt(2 * kPi)};
    }
    case GemmActivation::kSilu: {
      const double function = 1 / (1 + std::exp(-x));
      return {x * function, function + x * function * (1 - function)};
    }
    case GemmActivation::kGeluTanh: {
      const double tanh = std::tanh(std::sqrt(2 / kPi) * (x + 0.044715 * x * x * x));
      const double slope = std::sqrt(2 / kPi) * (1 + 3 * 0.044715 * x * x);
      return {0.5 * x * (1 + tanh), 0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * slope};
    }
  }
  return {x, 1};
}

/// Returns the factors of dropout for `count` values.
std::vector<float> dropout_factors(const Dropout& rule, std::int64_t count) {
  const std::vector<float> ones(static_cast<std::size_t>(count), 1.0f);
  std::vector<float> factors(ones.size());
  reference::dropout(rule, count, ones.data(), factors.data());
  return factors;
}

}  // namespace

template <typename T>
void gated_activation(const GatedActivation<T>& p) {
  const std::vector<float> factors = dropout_factors(p.dropout, p.count);
  for (std::int64_t i = 0; i < p.count; ++i) {
    const double gate = activate_with_derivative(p.gate[i], p.activation).first;
    p.out[i] = T(static_cast<float>(gate * p.x[i] * factors[static_cast<std::size_t>(i)]));
  }
}

template <typename T>
void gated_activation_gradient(const GatedActivationGradient<T>& p) {
  const std::vector<float> factors = dropout_factors(p.dropout, p.count);
  for (std::int64_t i = 0; i < p.count; ++i) {
    const auto [gate, derivative] = activate_with_derivative(p.gate[i], p.activation);
    const double gradient = double{p.grad_out[i]} * factors[static_cast<std::size_t>(i)];
    const double x = p.x[i];
    p.grad_x[i] = T(static_cast<float>(gradient * gate));
    p.grad_gate[i] = T(static_cast<float>(gradient * x * derivative));
  }
}

template void gated_activation(const GatedActivation<float>&);
template void gated_activation(const GatedActivation<BFloat16>&);
template void gated_activation_gradient(const GatedActivationGradient<float>&);
template void gated_activation_gradient(const GatedActivationGradient<BFloat16>&);

}  // namespace edgewise::kernels::reference

namespace edgewise::kernels {

HWY_EXPORT(compute_gated_range);
HWY_EXPORT(compute_gated_gradient_range);

constexpr std::int64_t kGatedGrain = 4096;  // values per range, at least

template <typename T>
void gated_activation(const GatedActivation<T>& p) {
  if (instruction_set() == InstructionSet::kReference) return reference::gated_activation(p);
  parallel_for(p.count, kGatedGrain, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(compute_gated_range)(&p, begin, end);
  });
}

template <typename T>
void gated_activation_gradient(const GatedActivationGradient<T>& p) {
  if (instruction_set() == InstructionSet::kReference) return reference::gated_activation_gradient(p);
  parallel_for(p.count, kGatedGrain, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(compute_gated_gradient_range)(&p, begin, end);
  });
}

template void gated_activation(const GatedActivation<float>&);
template void gated_activation(const GatedActivation<BFloat16>&);
template void gated_activation_gradient(const GatedActivationGradient<float>&);
template void gated_activation_gradient(const GatedActivationGradient<BFloat16>&);

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
