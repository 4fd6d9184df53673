// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "edgewise/graph/relation.h"
#include "edgewise/nn/neighbour_filter.h"
#include "edgewise/nn/sublayer.h"

namespace edgewise {

/// A separable convolution's filter over the nodes that still think, in a side whose halted nodes stay as they were:
/// their last states are what neighbours read of them. Where the filter is switched off, nodes read themselves alone.
/// Shapes: A = nodes that still think, M = size of a node's state.
class ThinkingFilter {
 public:
  /// All of it must outlive this. `relation` says in which order nodes are neighbours, `sublayer` is feed-forward's.
  ThinkingFilter(const Relation& relation, const NeighbourFilter& filter, const Sublayer& sublayer)
      : relation_(&relation), filter_(&filter), sublayer_(&sublayer) {}

  /// What feed-forward reads of the active nodes, from what it would read of each without the filter; `halted` are the
  /// others, in the order in which they halted.
  at::Tensor operator()(const std::vector<NodeIndex>& active, const std::vector<NodeIndex>& halted,
                        const at::Tensor& read_AM) const;

  /// After that step: the rows `leaving` of the active nodes halt, in the states x.
  void halt(const std::vector<NodeIndex>& leaving, const at::Tensor& x_AM, const Pass& pass);

 private:
  const Relation* relation_;
  const NeighbourFilter* filter_;
  const Sublayer* sublayer_;
  at::Tensor kept_;  // what is read of halted nodes, in the order in which they halted
};

}  // namespace edgewise
