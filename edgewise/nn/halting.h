// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/graph/relation_view.h"
#include "edgewise/nn/linear.h"
#include "edgewise/nn/norm.h"
#include "edgewise/options/transformer_options.h"

// Adaptive computation time (Graves 2016, section 2), node by node. Shapes: A = nodes that still think, M = size of a
// node's state.

namespace edgewise {

/// How near nodes are to being done: sigmoid(weight · norm(state) + bias). The norm is the tutorial's code's; its text
/// has none.
struct HaltingUnit {
  Norm norm;
  Linear linear;  // M to 1

  HaltingUnit() = default;
  HaltingUnit(const TransformerOptions& options, RandomStream& random);

  /// From states after a step to probabilities, [A].
  at::Tensor operator()(const at::Tensor& x_AM) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("norm", self.norm);
    part("linear", self.linear);
  }
};

/// Which nodes go on thinking, and how much the state of each step counts. A node's probabilities h_1, h_2, … are
/// summed until they reach 1 - epsilon, in step N, or the steps are over; then
///
///     weight of step n < N    h_n
///     weight of step N        R = 1 - (h_1 + … + h_(N-1)), the remainder
///     ponder cost             N + R
///
/// so that a node's weights sum to 1. Gradients go through the weights and R; N has none.
class Ponder {
 public:
  Ponder(std::int64_t num_nodes, double epsilon);

  /// The nodes that still think, ascending.
  const std::vector<NodeIndex>& active() const { return active_; }

  struct Step {
    at::Tensor weight_A;             // of this step's states
    std::vector<NodeIndex> staying;  // rows of the active nodes before this step; ascending
    std::vector<NodeIndex> leaving;
  };

  /// After a step of the active nodes. `halting_A` is what the halting unit said of them.
  Step step(const at::Tensor& halting_A, bool is_last);

  /// The steps each node has taken.
  const std::vector<std::int64_t>& steps() const { return steps_; }

  /// The sum of N + R over the nodes that have halted; differentiable.
  at::Tensor cost() const;

 private:
  std::vector<NodeIndex> active_;
  std::vector<std::int64_t> steps_;
  std::vector<double> sums_;  // of each active node's probabilities
  double threshold_;
  at::Tensor remaining_A_;    // 1 minus that, differentiable; undefined before the first step
  at::Tensor remainder_sum_;  // of those that have halted
};

}  // namespace edgewise
