// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/base/error.h"
#include "edgewise/kernels/gemm/activation.h"
#include "edgewise/options/layer_options.h"

namespace edgewise {

/// Returns the kernels' name of a model's activation.
inline kernels::GemmActivation gemm_activation(Activation activation) {
  switch (activation) {
    case Activation::kRelu:
      return kernels::GemmActivation::kRelu;
    case Activation::kGelu:
      return kernels::GemmActivation::kGelu;
    case Activation::kSilu:
      return kernels::GemmActivation::kSilu;
  }
  fail("gemm_activation: activation is {}, needs one of enum_names", static_cast<int>(activation));
}

}  // namespace edgewise
