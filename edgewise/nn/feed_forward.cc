// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/feed_forward.h"

#include <ATen/ops/gelu.h>

namespace edgewise {

FeedForward::FeedForward(const FeedForwardOptions& options, RandomStream& random)
    : inner(options.input_size, options.inner_size, Bias::kZero, random),
      outer(options.inner_size, options.output_size, Bias::kZero, random),
      activation(options.activation),
      dropout(options.dropout) {}

at::Tensor FeedForward::operator()(const at::Tensor& x, Pass& pass) const {
  at::Tensor hidden = inner(x);
  // In place, because a linear layer's gradient does not read its result.
  hidden = activation == Activation::kRelu ? hidden.relu_() : at::gelu(hidden);
  return outer(pass.dropout(hidden, dropout));
}

}  // namespace edgewise
