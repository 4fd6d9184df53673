// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/graph/relation_view.h"
#include "edgewise/runtime/layer_rows.h"
#include "edgewise/runtime/word_vectors.h"

namespace edgewise {

/// Which rows of a Universal Transformer's side still think, and what the states of each step come to: adaptive
/// computation time as nn/halting.h has it, on raw memory. Decisions are made in double, as there.
class ThinkingRows {
 public:
  ThinkingRows(const TransformerOptions& options, const HaltingParameters& halting, bool adapts,
               std::int64_t most_steps)
      : options_(options), halting_(halting), adapts_(adapts), most_steps_(most_steps) {}

  /// All of these rows begin to think; positions are theirs.
  void begin(std::span<const std::int64_t> positions);

  bool are_done() const { return active_.empty() || step_ == most_steps_; }
  std::int64_t step() const { return step_; }
  const std::vector<NodeIndex>& active() const { return active_; }  // ascending

  /// Adds to the active rows' states what tells position and step.
  void add_signals(WordVectors& words, float* states) const;
  /// The same to one state, of the row and for the step given.
  void add_signal(WordVectors& words, NodeIndex row, std::int64_t step, float* state) const;

  /// After a step: decides from the active rows' states which of them halt, and adds to what rows come to. The rows
  /// that stay and leave are places among the active ones, which then are those that stay.
  void end_step(const float* states);
  const std::vector<NodeIndex>& staying() const { return staying_; }
  const std::vector<NodeIndex>& leaving() const { return leaving_; }

  /// How many each row took, once all are done.
  const std::vector<std::int64_t>& steps() const { return steps_; }

  /// What all rows came to, [rows, M].
  void write(float* states) const;

 private:
  void probabilities(const float* states);

  const TransformerOptions& options_;
  const HaltingParameters& halting_;
  bool adapts_;
  std::int64_t most_steps_;
  std::int64_t step_ = 0;
  std::vector<std::int64_t> positions_;
  std::vector<NodeIndex> active_, staying_, leaving_;
  std::vector<std::int64_t> steps_;    // of all rows
  std::vector<double> sums_;           // of all rows' probabilities
  std::vector<double> probabilities_;  // of the active rows, in this step
  std::vector<float> remaining_;       // of all rows: 1 minus their sums, in floats as the model has them
  std::vector<float> weighted_;        // [rows, M]
  FloatRoom normed_room_;
};

}  // namespace edgewise
