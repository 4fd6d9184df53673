// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "edgewise/graph/neighbours.h"

// Shapes: N = nodes, A = those computed, W = width of the filter, M = size of a node's state.

namespace edgewise {

/// The first half of a separable convolution (Chollet 2017), each dimension filtered on its own:
///
///     y_a[m] = sum_w weight[w, m] · x_neighbour(a, w)[m]
///
/// The other half, a linear layer for each node, is feed-forward's first. It starts as y = x. One made without a size
/// is switched off and has no parameters.
struct NeighbourFilter {
  at::Tensor weight_WM;
  Reach reach;

  NeighbourFilter() = default;
  NeighbourFilter(std::int64_t size, Reach reach_of_filter);

  bool is_on() const { return weight_WM.defined(); }

  /// `neighbours`, [A, W], are rows of x, the node itself among them; kNoNode counts as zeros. [A, M], in x's type.
  at::Tensor operator()(const at::Tensor& x_NM, std::span<const NodeIndex> neighbours) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("weight", self.weight_WM);
  }
};

}  // namespace edgewise
