// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "edgewise/nn/module.h"
#include "edgewise/nn/norm.h"

namespace edgewise {

/// What surrounds attention and feed-forward: a residual connection, a norm and dropout.
///
///     pre    x + dropout(f(norm(x)))    the graph tutorial, the from-scratch document
///     post   norm(x + dropout(f(x)))    the paper, the textbook chapter's "add & norm"
///
/// In two halves, so that f may be message passing.
struct Sublayer {
  Norm norm;
  NormPlacement placement = NormPlacement::kPre;
  double dropout = 0.0;

  Sublayer() = default;
  explicit Sublayer(const LayerOptions& options);

  /// What f reads.
  at::Tensor before(const at::Tensor& x_TM) const;

  /// The state with `y`, what f said, added.
  at::Tensor after(const at::Tensor& x_TM, const at::Tensor& y_TM, Pass& pass) const;
};

}  // namespace edgewise
