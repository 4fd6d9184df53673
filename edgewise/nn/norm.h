// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "edgewise/options/layer_options.h"

namespace edgewise {

/// A norm: normalises each row to mean 0 and deviation 1, then scales and shifts it by learnt parameters; see
/// normalise() in ops/norm.h. A default-constructed norm is the identity without parameters. The result has the given
/// type or, without one, the type of x.
struct Norm {
  at::Tensor gain;  // [M], initially 1; alpha in the from-scratch note
  at::Tensor bias;  // [M], initially 0
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
