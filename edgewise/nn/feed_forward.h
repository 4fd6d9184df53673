// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "edgewise/nn/linear.h"
#include "edgewise/nn/module.h"
#include "edgewise/options/layer_options.h"

namespace edgewise {

/// The position-wise feed-forward layer outer(dropout(activation(inner(x)))); both linear layers have biases.
struct FeedForward {
  Linear inner;
  Linear outer;
  Activation activation = Activation::kRelu;
  double dropout = 0.0;  // rate for activations

  FeedForward() = default;
  FeedForward(const LayerOptions& options, RandomStream& random);

  /// Maps [..., M] to [..., M], M = size of a node's state.
  at::Tensor operator()(const at::Tensor& x, Pass& pass) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("inner", self.inner);
    part("outer", self.outer);
  }
};

}  // namespace edgewise
