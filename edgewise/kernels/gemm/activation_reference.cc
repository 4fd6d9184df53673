// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>

#include "edgewise/kernels/gemm/activation.h"

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
  }
  return x;
}

}  // namespace edgewise::kernels::reference
