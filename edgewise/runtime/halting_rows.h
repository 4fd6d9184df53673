// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/graph/relation_view.h"
#include "edgewise/runtime/activations.h"
#include "edgewise/runtime/token_embedding.h"
#include "edgewise/runtime/weights.h"

namespace edgewise {

/// Adaptive computation time (ACT) for the rows of a Universal Transformer's encoder or decoder: decides after each
/// step which rows halt, and sums the states of each row over its steps, weighted by its halting probabilities.
/// nn/halting.h has the formulas. This class and nn/halting.h compare sums of probabilities in double, so that rows
/// halt in the same step in both. Shapes: A = active rows, M = size of a state.
class HaltingRows {
 public:
  /// Without `is_adaptive`, all rows take `max_steps` steps and their last state is the result.
  HaltingRows(const TransformerOptions& options, const HaltingParameters& parameters, bool is_adaptive,
              std::int64_t max_steps)
      : options_(options), parameters_(parameters), is_adaptive_(is_adaptive), max_steps_(max_steps) {}

  /// Starts with one active row per position.
  void begin(std::span<const std::int64_t> positions);

  bool is_done() const { return active_.empty() || step_ == max_steps_; }
  std::int64_t step() const { return step_; }                       // number of steps that have ended
  const std::vector<NodeIndex>& active() const { return active_; }  // rows that have not halted, ascending
  std::int64_t position(NodeIndex row) const { return positions_[static_cast<std::size_t>(row)]; }

  /// Adds the vectors of position and step to the states of the active rows, [A, M].
  void add_coordinate_embeddings(TokenEmbedding& embedding, float* states) const;

  /// Ends a step that computed `states`, [A, M], of the active rows. Rows may halt.
  void end_step(const float* states);

  /// Return indices into active() before end_step: of the rows that stay active, and of the rows that halted.
  const std::vector<NodeIndex>& continuing() const { return continuing_; }
  const std::vector<NodeIndex>& halting() const { return halting_; }

  /// Number of steps of each row; complete once is_done().
  const std::vector<std::int64_t>& ponder_steps() const { return ponder_steps_; }

  /// Returns the weighted sums of states, [rows, M]; complete once is_done().
  const std::vector<float>& weighted_states() const { return weighted_states_; }

 private:
  void compute_probabilities(const float* states);
  void add_weighted_state(NodeIndex row, float weight, const float* state);

  const TransformerOptions& options_;
  const HaltingParameters& parameters_;
  bool is_adaptive_;
  std::int64_t max_steps_;
  std::int64_t step_ = 0;
  std::vector<std::int64_t> positions_;
  std::vector<NodeIndex> active_, continuing_, halting_;
  std::vector<std::int64_t> ponder_steps_;
  std::vector<double> probability_sums_;  // [rows]
  std::vector<double> probabilities_;     // [A], of this step
  std::vector<float> remainders_;         // [rows], 1 minus the sum of probabilities, in float as in nn/halting.h
  std::vector<float> weighted_states_;    // [rows, M]
  FloatBuffer normed_buffer_;
};

}  // namespace edgewise
