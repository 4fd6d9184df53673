// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/graph/relation.h"
#include "edgewise/nn/attention.h"
#include "edgewise/nn/embedding.h"
#include "edgewise/nn/halting.h"
#include "edgewise/nn/sublayer.h"

// The adaptive steps of one side of a Universal Transformer (encoder or decoder). Each step computes the active nodes
// only, gathered into the rows of smaller tensors. Shapes: N = all nodes of the side, A = active nodes, M = size of a
// node's state, H = heads, V = size of a head's value.

namespace edgewise {

/// The vectors that are added to the states before each step: the encoding of a node's position plus the encoding of
/// the step, both by the formula of position encodings (Dehghani et al. 2019, section 2.1).
class CoordinateEmbeddings {
 public:
  /// If `mirrored` is not empty, a position has these numbers as its second half (PositionEncodings).
  CoordinateEmbeddings(const PositionEncodings& table, std::span<const std::int64_t> positions,
                       const at::TensorOptions& options, std::span<const std::int64_t> mirrored = {});

  /// Returns the vectors of `nodes`, in ascending order, at a step that is counted from 0: [A, M].
  at::Tensor operator()(std::span<const NodeIndex> nodes, std::int64_t step) const;

 private:
  const PositionEncodings* table_;
  at::Tensor positions_NM_;
};

/// Appends the rows of `more` to `rows`, which may be undefined.
void append_rows(at::Tensor& rows, const at::Tensor& more);

/// Returns for each node its row in a tensor that holds the active nodes followed by the halted nodes.
std::vector<NodeIndex> rows_by_node(const std::vector<NodeIndex>& active, const std::vector<NodeIndex>& halted);

/// Self-attention of the active nodes to active and, with HaltedKeys::kFrozen, halted nodes.
class AdaptiveAttention {
 public:
  /// The arguments must outlive this object. `sublayer` is the sublayer around the attention.
  AdaptiveAttention(const Relation& relation, const MultiHeadAttention& attention, const Sublayer& sublayer,
                    HaltedKeys halted_keys);

  /// Returns the attention averages of the active nodes, [A, H, V], from their inputs.
  at::Tensor operator()(const std::vector<NodeIndex>& active, const at::Tensor& input_AM, Pass& pass);

  /// Halts the nodes active[i] for all i in `halting`. `x_AM` holds the states of all active nodes after the step.
  void halt(const std::vector<NodeIndex>& active, const std::vector<NodeIndex>& halting, const at::Tensor& x_AM,
            const Pass& pass);

  /// The halted nodes in the order in which they halted.
  const std::vector<NodeIndex>& halted() const { return halted_; }

 private:
  const Relation* relation_;
  const MultiHeadAttention* attention_;
  const Sublayer* sublayer_;
  HaltedKeys halted_keys_;
  std::vector<NodeIndex> halted_;
  Projections frozen_;  // keys and values of the halted nodes' last states, in the order of halted_
};

/// The layer of one side of the model, applied to the active nodes of the side.
class AdaptiveLayer {
 public:
  virtual ~AdaptiveLayer() = default;

  /// Maps the active nodes' states, with coordinate embeddings added, to their states after the step.
  virtual at::Tensor step(const std::vector<NodeIndex>& active, const at::Tensor& x_AM, std::int64_t step,
                          Pass& pass) = 0;

  /// Halts the nodes active[i] for all i in `halting`. `x_AM` holds the states of all active nodes after the step.
  virtual void halt(const std::vector<NodeIndex>& active, const std::vector<NodeIndex>& halting, const at::Tensor& x_AM,
                    const Pass& pass) = 0;
};

struct AdaptiveOptions {
  std::int64_t max_steps = 1;
  bool is_adaptive = true;     // false: every node takes max_steps, and its last state is the result
  double epsilon = 0.01;       // a node halts once its halting probabilities sum to 1 - epsilon or more
  double dropout = 0.0;        // rate of the dropout after the coordinate embeddings are added
  bool injects_input = false;  // adds the initial states in each step after the first one
};

struct AdaptiveResult {
  at::Tensor state_NM;              // states of the nodes, before the final norm of the side
  std::vector<std::int64_t> steps;  // ponder steps of each node
  at::Tensor ponder_cost;           // summed over nodes, differentiable; undefined if the side is not adaptive
};

/// Applies the layer to the active nodes until all have halted or `max_steps` are done.
AdaptiveResult run_adaptive_steps(const AdaptiveOptions& options, const at::Tensor& x_NM,
                                  const CoordinateEmbeddings& coordinates, const HaltingUnit& halting_unit,
                                  AdaptiveLayer& layer, Pass& pass);

}  // namespace edgewise
