// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "edgewise/base/random.h"
#include "edgewise/ops/linear.h"

namespace edgewise {

enum class Bias { kNone, kZero };  // kZero: a bias with initial value 0

/// A linear layer: x · weightᵀ + bias over the last dimension. LinearOptions (ops/linear.h) add activation and dropout.
struct Linear {
  at::Tensor weight;  // [out, in]
  at::Tensor bias;    // [out]; undefined without bias

  Linear() = default;
  Linear(std::int64_t in, std::int64_t out, Bias with_bias, RandomStream& random);

  /// Maps [..., in] to [..., out].
  at::Tensor operator()(const at::Tensor& x, const LinearOptions& options = {}) const;

  /// Returns handles of the parameters, for linear_group.
  LinearWeights weights() const { return {weight, bias}; }

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("weight", self.weight);
    part("bias", self.bias);
  }
};

}  // namespace edgewise
