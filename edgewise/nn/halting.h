// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "edgewise/graph/relation_view.h"
#include "edgewise/nn/linear.h"
#include "edgewise/nn/sublayer.h"
#include "edgewise/options/transformer_options.h"

// Adaptive computation time (Graves 2016, section 2) of each node. Shapes: A = active nodes, which have not halted, M =
// size of a node's state.
namespace edgewise {

/// Computes halting probabilities: sigmoid(weight · norm(state) + bias). In a Universal Transformer, the norm is in the
/// graph tutorial's code, but not in its text.
struct HaltingUnit {
  Norm norm;
  Linear linear;  // M to 1

  HaltingUnit() = default;
  /// `bias` is the initial bias.
  HaltingUnit(const LayerOptions& options, double bias, RandomStream& random);

  /// Returns the halting probabilities, [A], of states after a step.
  at::Tensor operator()(const at::Tensor& x_AM) const;
  /// Returns their logits.
  at::Tensor logits(const at::Tensor& x_AM) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("norm", self.norm);
    part("linear", self.linear);
  }
};

/// Tracks which nodes are active, and computes the weight of the state of each step. A node halts in step N, in which
/// the sum of its halting probabilities h_1, h_2, … reaches 1 - epsilon, or in the last step allowed. Then
///
///     weight of step n < N    h_n
///     weight of step N        R = 1 - (h_1 + … + h_(N-1)), the remainder
///     ponder cost             N + R
///
/// so that a node's weights sum to 1. Gradients go through the weights and R; N has none.
class HaltingState {
 public:
  HaltingState(std::int64_t num_nodes, double epsilon);

  /// The nodes that have not halted, ascending.
  const std::vector<NodeIndex>& active() const { return active_; }

  struct Step {
    at::Tensor weight_A;                // the weight of each state of this step
    std::vector<NodeIndex> continuing;  // rows of the nodes active in this step that stay active; ascending
    std::vector<NodeIndex> halting;     // rows of the nodes active in this step that halt in it; ascending
  };

  /// Ends a step of the active nodes, whose halting probabilities are `halting_A`. `is_last` halts all of them.
  Step step(const at::Tensor& halting_A, bool is_last);

  /// The ponder steps of each node so far.
  const std::vector<std::int64_t>& steps() const { return steps_; }

  /// Returns the ponder cost: the sum of N + R over the halted nodes, differentiable.
  at::Tensor cost() const;

 private:
  std::vector<NodeIndex> active_;
  std::vector<std::int64_t> steps_;
  std::vector<double> sums_;  // sum of the halting probabilities of each active node
  double threshold_;          // 1 - epsilon
  at::Tensor remaining_A_;    // 1 minus the sum of probabilities, differentiable; undefined before the first step
  at::Tensor remainder_sum_;  // sum of R over the halted nodes
};

}  // namespace edgewise
