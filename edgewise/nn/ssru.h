// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "edgewise/graph/relation.h"
#include "edgewise/message/message_graph.h"
#include "edgewise/nn/linear.h"

// Shapes: N = nodes, M = size of a node's state.
namespace edgewise {

/// A simpler simple recurrent unit (Kim et al. 2019), in place of a decoder's self-attention. As message passing, a
/// token's cell c goes along the path graph of the output, from each token to the next one:
///
///     f_n = sigmoid(W_f x_n + b_f),  c_n = f_n · c_(n-1) + (1 − f_n) · W x_n,  result_n = max(c_n, 0)
///
/// A default-constructed unit is off and has no parameters.
struct Ssru {
  Linear forget;  // W_f and b_f
  Linear input;   // W, without a bias

  Ssru() = default;
  Ssru(std::int64_t size, RandomStream& random);

  bool is_on() const { return input.weight.defined(); }

  /// Computes the whole unit: [N, M] to [N, M]. `path` is as in ops/ssru.h.
  at::Tensor operator()(const Relation& path, const at::Tensor& x_NM) const;

  /// Returns what message passing reads of nodes: their gates f as "gate", and as "cell" the cells (1 − f) · W x of
  /// nodes without a node before them.
  Columns project(const at::Tensor& x_NM) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("forget", self.forget);
    part("input", self.input);
  }
};

/// Passes cells along the given edges, in one step for all edges that are equally far from the beginning of their path:
/// adds gate · (cell of the source) to the node column "cell". This is the definition of Ssru by message passing. The
/// edges into a node have smaller numbers than those from it; edges from a node to itself carry no message.
void propagate_cells(MessageGraph& graph, const at::Tensor& edges);

}  // namespace edgewise
