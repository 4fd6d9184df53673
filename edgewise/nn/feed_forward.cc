// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/feed_forward.h"

namespace edgewise {

FeedForward::FeedForward(const FeedForwardOptions& options, RandomStream& random)
    : inner(options.input_size, options.inner_size, Bias::kZero, random),
      outer(options.inner_size, options.output_size, Bias::kZero, random),
      activation(options.activation),
      dropout(options.dropout) {}

at::Tensor FeedForward::operator()(const at::Tensor& x, Pass& pass) const {
  LinearOptions options = {.activation = activation};
  pass.set_dropout(dropout, options);
  return outer(inner(x, options));
}

}  // namespace edgewise
