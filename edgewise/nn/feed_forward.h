// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "edgewise/nn/linear.h"
#include "edgewise/nn/module.h"
#include "edgewise/options/layer_options.h"

namespace edgewise {

struct FeedForwardOptions {
  std::int64_t input_size = 512;
  std::int64_t inner_size = 2048;
  std::int64_t output_size = 512;
  Activation activation = Activation::kRelu;
  double dropout = 0.0;  // of the activations

  static FeedForwardOptions of(const LayerOptions& layer) {
    return {layer.size, layer.feed_forward, layer.size, layer.activation, layer.dropout.activation};
  }
};

/// outer(dropout(activation(inner(x)))), the same for each node, both linear layers with biases.
struct FeedForward {
  Linear inner;
  Linear outer;
  Activation activation = Activation::kRelu;
  double dropout = 0.0;

  FeedForward() = default;
  FeedForward(const FeedForwardOptions& options, RandomStream& random);

  /// [..., input size] to [..., output size].
  at::Tensor operator()(const at::Tensor& x, Pass& pass) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("inner", self.inner);
    part("outer", self.outer);
  }
};

}  // namespace edgewise
