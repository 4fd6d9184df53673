// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "edgewise/graph/relation.h"
#include "edgewise/nn/depthwise_convolution.h"
#include "edgewise/nn/sublayer.h"

namespace edgewise {

/// A depthwise convolution of feed-forward's inputs over the active nodes of one side. The convolution uses the input
/// of a halted neighbour's last state. If it is off, it returns its inputs. Shapes: A = active nodes, M = size of a
/// node's state.
class AdaptiveConvolution {
 public:
  /// The arguments must outlive this object. The rows of `relation` determine which nodes are neighbours; `sublayer` is
  /// the sublayer around feed-forward.
  AdaptiveConvolution(const Relation& relation, const DepthwiseConvolution& convolution, const Sublayer& sublayer)
      : relation_(&relation), convolution_(&convolution), sublayer_(&sublayer) {}

  /// Convolves the inputs of the active nodes. `halted` lists the halted nodes in the order in which they halted.
  at::Tensor operator()(const std::vector<NodeIndex>& active, const std::vector<NodeIndex>& halted,
                        const at::Tensor& input_AM) const;

  /// Halts rows `halting` of the active nodes, whose states after the step are `x_AM`.
  void halt(const std::vector<NodeIndex>& halting, const at::Tensor& x_AM, const Pass& pass);

 private:
  const Relation* relation_;
  const DepthwiseConvolution* convolution_;
  const Sublayer* sublayer_;
  at::Tensor frozen_;  // inputs of the halted nodes' last states, in the order in which the nodes halted
};

}  // namespace edgewise
