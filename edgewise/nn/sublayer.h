// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "edgewise/nn/module.h"
#include "edgewise/nn/norm.h"

namespace edgewise {

/// Nodes on their way through sublayers.
struct NodeState {
  at::Tensor x_TM;     // what residual connections carry on
  at::Tensor read_TM;  // what the next sublayer reads: a norm of x where norms come first, else x
};

/// What surrounds attention and feed-forward: a residual connection, a norm and dropout.
///
///     pre    x + dropout(f(norm(x)))    the graph tutorial, the from-scratch document
///     post   norm(x + dropout(f(x)))    the paper, the textbook chapter's "add & norm"
///
/// In two halves, so that f may be message passing. The second half also makes what comes behind read, so that a sum
/// and the norm of it are one pass over memory.
struct Sublayer {
  Norm norm;
  NormPlacement placement = NormPlacement::kPre;
  double dropout = 0.0;

  Sublayer() = default;
  explicit Sublayer(const LayerOptions& options);

  /// The norm through which f reads x: this sublayer's or, where norms come last, none.
  const Norm& first_norm() const;

  /// A first state, whose `read` is what f reads.
  NodeState begin(const at::Tensor& x_TM, const Pass& pass) const;

  /// What f reads.
  at::Tensor before(const at::Tensor& x_TM) const;

  /// The state with `y`, what f said, added, to be read through `next`.
  NodeState after(const at::Tensor& x_TM, const at::Tensor& y_TM, const Norm& next, Pass& pass) const;

  /// The same where nothing is known of what reads it.
  at::Tensor after(const at::Tensor& x_TM, const at::Tensor& y_TM, Pass& pass) const;
};

}  // namespace edgewise
