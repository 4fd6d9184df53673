// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "edgewise/kernels/gemm/activation.h"
#include "edgewise/kernels/simd/instruction_set.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/gemm/activation_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/gemm/activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

void apply_activation(GemmActivation activation, std::int64_t count, float* values) {
  with_activation(activation, [&](auto constant) HWY_ATTR {
    for_each_vector(count, [&](std::int64_t i, auto part) HWY_ATTR {
      store(part, activate_lanes<constant>(load(part, values + i)).value, values + i);
    });
  });
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels::reference {

float activate(float x, GemmActivation activation) {
  switch (activation) {
    case GemmActivation::kNone:
      return x;
    case GemmActivation::kRelu:
      return std::max(x, 0.0f);
    case GemmActivation::kGelu:
      return 0.5f * x * (1 + std::erf(x / std::numbers::sqrt2_v<float>));
    case GemmActivation::kSilu:
      return x / (1 + std::exp(-x));
    case GemmActivation::kGeluTanh:
      return 0.5f * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi_v<float>) * (x + 0.044715f * x * x * x)));
  }
  return x;
}

}  // namespace edgewise::kernels::reference

namespace edgewise::kernels {

HWY_EXPORT(apply_activation);

void activate(GemmActivation activation, std::int64_t count, float* values) {
  if (activation == GemmActivation::kNone) return;
  if (activation == GemmActivation::kRelu || instruction_set() == InstructionSet::kReference) {
    for (float& value : std::span(values, static_cast<std::size_t>(count))) {
      value = reference::activate(value, activation);
    }
  } else {
    HWY_DYNAMIC_DISPATCH(apply_activation)(activation, count, values);
  }
}

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
