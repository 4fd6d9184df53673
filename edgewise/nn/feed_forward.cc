// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/feed_forward.h"

namespace edgewise {

FeedForward::FeedForward(const LayerOptions& options, RandomStream& random)
    : inner(options.size, options.feed_forward, Bias::kZero, random),
      outer(options.feed_forward, options.size, Bias::kZero, random),
      activation(options.activation),
      dropout(options.dropout.activation) {}

at::Tensor FeedForward::operator()(const at::Tensor& x, Pass& pass) const {
  LinearOptions options = {.activation = activation};
  pass.set_dropout(dropout, options);
  return outer(inner(x, options));
}

}  // namespace edgewise
