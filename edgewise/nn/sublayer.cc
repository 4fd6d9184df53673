// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/sublayer.h"

#include <ATen/TensorOperators.h>

namespace edgewise {

Sublayer::Sublayer(const LayerOptions& options)
    : norm(options.size, options.norm, options.norm_epsilon),
      placement(options.norm_placement),
      dropout(options.dropout.residual) {}

at::Tensor Sublayer::before(const at::Tensor& x_TM) const {
  return placement == NormPlacement::kPre ? norm(x_TM) : x_TM;
}

at::Tensor Sublayer::after(const at::Tensor& x_TM, const at::Tensor& y_TM, Pass& pass) const {
  const at::Tensor sum = x_TM + pass.dropout(y_TM, dropout);
  return placement == NormPlacement::kPre ? sum : norm(sum);
}

}  // namespace edgewise
