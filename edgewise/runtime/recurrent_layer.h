// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "edgewise/graph/relation_view.h"
#include "edgewise/runtime/halting_probabilities.h"
#include "edgewise/runtime/kv_cache.h"
#include "edgewise/runtime/packed_linear.h"
#include "edgewise/runtime/sublayer_runner.h"
#include "edgewise/runtime/token_embedding.h"
#include "edgewise/runtime/weights.h"

namespace edgewise {

/// Adaptive computation time (ACT) for the rows of a Universal Transformer's encoder or decoder: decides after each
/// step which rows halt, and sums the states of each row over its steps, weighted by its halting probabilities.
/// nn/halting.h has the formulas. This class and nn/halting.h compare sums of probabilities in double, so that rows
/// halt in the same step in both. Shapes: A = active rows, M = size of a state.
class HaltingRows {
 public:
  /// Without parameters, all rows take `max_steps` steps and their last state is the result.
  HaltingRows(const TransformerOptions& options, const HaltingParameters& parameters, std::int64_t max_steps)
      : options_(options), parameters_(parameters), max_steps_(max_steps) {}

  /// Starts with one active row per position. `mirrored` has the positions in the mirrored inputs; empty: those of
  /// `positions`.
  void begin(std::span<const std::int64_t> positions, std::span<const std::int64_t> mirrored);

  bool is_done() const { return active_.empty() || step_ == max_steps_; }
  std::int64_t step() const { return step_; }                       // number of steps that have ended
  const std::vector<NodeIndex>& active() const { return active_; }  // rows that have not halted, ascending
  std::int64_t position(NodeIndex row) const { return positions_[static_cast<std::size_t>(row)]; }

  /// Adds the vectors of position and step to the states of the active rows, [A, M], and with input injection the
  /// states before the first step to those of later steps.
  void add_coordinate_embeddings(TokenEmbedding& embedding, float* states);

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
  bool is_adaptive() const { return !parameters_.weight.empty(); }
  void add_weighted_state(NodeIndex row, float weight, const float* state);

  const TransformerOptions& options_;
  const HaltingParameters& parameters_;
  std::int64_t max_steps_;
  std::int64_t step_ = 0;
  std::vector<std::int64_t> positions_, mirrored_;
  std::vector<NodeIndex> active_, continuing_, halting_;
  std::vector<std::int64_t> ponder_steps_;
  std::vector<double> probability_sums_;  // [rows]
  std::vector<float> remainders_;         // [rows], 1 minus the sum of probabilities, in float as in nn/halting.h
  std::vector<float> weighted_states_;    // [rows, M]
  std::vector<float> first_states_;       // [rows, M], with input injection
  HaltingProbabilities probabilities_of_;
};

/// The layer of a Universal Transformer's encoder or decoder, applied to rows step after step until each has halted.
/// In each step, the active rows write their keys, values and, with a filter, the filter's inputs to their cache
/// entries: [W], [W] and [M]. The option universal.halted_keys says what active rows attend to once a row has halted:
/// `frozen`, an entry computed from the halted row's last state; `dropped`, nothing. T is the type of weights, E that
/// of entries.
template <typename T, typename E>
class UniversalLayer {
 public:
  /// `stack` is the encoder or the decoder of `weights`. A row takes at most `max_steps` steps, and has entries for
  /// consecutive steps at a distance of `step_offset`; 0: one entry serves all steps.
  UniversalLayer(const Weights<T>& weights, const StackParameters<T>& stack, std::int64_t max_steps,
                 std::int64_t step_offset);

  /// Starts with one row per position. `entries` are the rows' own cache entries, and `attended`, which must outlive
  /// the rows, the entries that each row attends to: all positions of its sentence from 0 up to at least its own.
  /// `mirrored` is as in HaltingRows. Returns the rows' states, [R, M], which the caller writes.
  float* begin(std::span<const std::int64_t> positions, std::span<E* const> entries, const AttendedEntries<E>& attended,
               std::span<const std::int64_t> mirrored = {});

  bool is_done() const { return halting_.is_done(); }

  // Each step calls these functions in this order. A decoder runs cross-attention on rows() before feed_forward.
  void begin_step(TokenEmbedding& embedding) { halting_.add_coordinate_embeddings(embedding, rows_.state()); }
  void self_attend(const NormParameters& next_sublayer_norm);
  void feed_forward();
  void end_step();

  /// Replaces the states of rows() by the weighted sums of all rows' states, and their input() by final_norm of these.
  void finish(const NormParameters& final_norm);

  SublayerRunner<T>& rows() { return rows_; }  // the active rows; after finish, all rows
  const HaltingRows& halting() const { return halting_; }

 private:
  bool drops_halted() const { return options_.universal.halted_keys == HaltedKeys::kDropped; }
  std::int64_t entry_offset(std::int64_t step) const { return step * step_offset_; }
  std::int64_t num_later_entries() const;
  void write_keys_and_values(std::span<E* const> entries, std::int64_t step, const float* projected) const;
  void write_filter_input(std::span<E* const> entries, std::int64_t step, const float* normed) const;
  std::vector<const E*> remove_halted(std::span<kernels::SourceRange> ranges) const;
  void convolve();
  void freeze(std::span<E* const> entries);

  const TransformerOptions& options_;
  const StackParameters<T>& stack_;
  const LayerParameters<T>& layer_;
  std::int64_t max_steps_;
  std::int64_t step_offset_;
  const HeadLayout& heads_;
  SublayerRunner<T> rows_;
  SublayerRunner<T> halted_rows_;  // the rows that halt in this step
  HaltingRows halting_;
  FloatBuffer convolved_buffer_;
  std::span<E* const> entries_;
  const AttendedEntries<E>* attended_ = nullptr;
  std::unordered_map<const E*, std::int64_t> entry_steps_;  // with dropped keys: the number of steps of an entry's row
};

}  // namespace edgewise
