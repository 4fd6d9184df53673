// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "edgewise/options/layer_options.h"

namespace edgewise {

/// Makes each node's state of mean 0 and deviation 1, then scales and shifts it by what it has learnt; normalise()
/// has the formulas. One made without a size is switched off: it has no parameters and returns x. The result has the
/// given type, or that of x.
struct Norm {
  at::Tensor gain;  // [M], starts from ones: the from-scratch document's alpha
  at::Tensor bias;  // [M]
  NormKind kind = NormKind::kLayerNorm;
  double epsilon = 1e-5;

  Norm() = default;
  Norm(std::int64_t size, NormKind kind_of_norm, double norm_epsilon);

  at::Tensor operator()(const at::Tensor& x_TM, std::optional<at::ScalarType> type = {}) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("gain", self.gain);
    part("bias", self.bias);
  }
};

}  // namespace edgewise
