// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/graph/relation.h"
#include "edgewise/nn/attention.h"
#include "edgewise/nn/halting.h"
#include "edgewise/nn/positions.h"
#include "edgewise/nn/sublayer.h"

// How one side of a Universal Transformer thinks, on compacted rows: the nodes that still think are gathered, and
// computed as the rows of smaller tensors. Shapes: N = all nodes of the side, A = those that still think, M = size of a
// node's state, H = heads, V = size of a head's value.

namespace edgewise {

/// What is added to nodes' states before each step: the vector of a node's position, and that of the step, both by the
/// formula of positions.
class StepSignals {
 public:
  StepSignals(const Positions& table, std::span<const std::int64_t> positions, at::ScalarType type);

  /// Of some of the nodes, ascending; step 0 is the first. [A, M].
  at::Tensor operator()(std::span<const NodeIndex> nodes, std::int64_t step) const;

 private:
  const Positions* table_;
  at::Tensor positions_NM_;
};

/// Puts more rows behind those there are, if any.
void append(at::Tensor& rows, const at::Tensor& more);

/// For each node of a side, where it stands among the active and, behind them, the halted ones.
std::vector<NodeIndex> rows_by_node(const std::vector<NodeIndex>& active, const std::vector<NodeIndex>& halted);

/// Self-attention of the nodes that still think, over all nodes as HaltedKeys has them.
class ThinkingAttention {
 public:
  /// All of it must outlive this. `sublayer` is the attention's.
  ThinkingAttention(const Relation& relation, const MultiHeadAttention& attention, const Sublayer& sublayer,
                    HaltedKeys halted_keys, const StepSignals& signals);

  /// What the active nodes hear at a step, [A, H, V], from what the attention reads of them.
  at::Tensor operator()(const std::vector<NodeIndex>& active, const at::Tensor& read_AM, std::int64_t step, Pass& pass);

  /// After that step: the rows `leaving` of the active nodes halt, in the states x.
  void halt(const std::vector<NodeIndex>& active, const std::vector<NodeIndex>& leaving, const at::Tensor& x_AM,
            const Pass& pass);

  const std::vector<NodeIndex>& halted() const { return halted_; }  // in the order in which they halted

 private:
  bool all_are_active() const { return halted_.empty(); }
  at::Tensor among_active(const std::vector<NodeIndex>& active, const Projections& made, Pass& pass) const;
  Projections of_halted(std::int64_t step, Pass& pass) const;

  const Relation* relation_;
  const MultiHeadAttention* attention_;
  const Sublayer* sublayer_;
  HaltedKeys halted_keys_;
  const StepSignals* signals_;

  Projections made_;  // of the active nodes in the last step
  std::vector<NodeIndex> halted_;
  Projections kept_;   // frozen or stale, in that order
  at::Tensor states_;  // to recompute them from, likewise
};

/// One side's layer, as a step of some nodes.
class ThinkingLayer {
 public:
  virtual ~ThinkingLayer() = default;

  /// From the states of the active nodes, with the signals added, to those after the step.
  virtual at::Tensor step(const std::vector<NodeIndex>& active, const at::Tensor& x_AM, std::int64_t step,
                          Pass& pass) = 0;

  /// After that step: the rows `leaving` of the active nodes halt.
  virtual void halt(const std::vector<NodeIndex>& active, const std::vector<NodeIndex>& leaving, const at::Tensor& x_AM,
                    const Pass& pass) = 0;
};

struct ThinkingOptions {
  std::int64_t most_steps = 1;
  bool adapts = true;  // else all nodes take all steps, and the last state is the result
  double epsilon = 0.01;
  double dropout = 0.0;  // of states with their signals
};

/// What thinking came to.
struct Thought {
  at::Tensor state_NM;              // before the side's final norm
  std::vector<std::int64_t> steps;  // of each node
  at::Tensor ponder_cost;           // summed over nodes, differentiable; undefined where the side does not adapt
};

/// Applies the layer again and again to the nodes that still think.
Thought think(const ThinkingOptions& options, const at::Tensor& x_NM, const StepSignals& signals,
              const HaltingUnit& halting, ThinkingLayer& layer, Pass& pass);

}  // namespace edgewise
