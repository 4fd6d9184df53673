// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "edgewise/runtime/halting_rows.h"
#include "edgewise/runtime/kv_cache.h"
#include "edgewise/runtime/sublayer_runner.h"

namespace edgewise {

template <typename T>
struct UniversalLayerParameters {
  const AttentionParameters<T>& self_attention;
  const FeedForwardParameters<T>& feed_forward;
  const ConvolutionParameters& filter;
  const HaltingParameters& halting;
  bool is_adaptive;
  std::int64_t max_steps;
  std::int64_t step_offset;  // distance between a row's entries for consecutive steps; 0: one entry serves all steps
};

/// The layer of a Universal Transformer's encoder or decoder, applied to rows step after step until each has halted.
/// In each step, the active rows write their keys, values and, with a filter, the filter's inputs to their cache
/// entries: [W], [W] and [M]. The option universal.halted_keys says what active rows attend to once a row has halted:
/// `frozen`, an entry computed from the halted row's last state; `dropped`, nothing. T is the type of weights, E that
/// of entries.
template <typename T, typename E>
class UniversalLayer {
 public:
  UniversalLayer(const Weights<T>& weights, const UniversalLayerParameters<T>& parameters);

  /// Starts with one row per position. `entries` are the rows' own cache entries, and `attended`, which must outlive
  /// the rows, the entries that each row attends to: all positions of its sentence from 0 up to at least its own.
  /// Returns the rows' states, [R, M], which the caller writes.
  float* begin(std::span<const std::int64_t> positions, std::span<E* const> entries,
               const AttendedEntries<E>& attended);

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
  std::int64_t entry_offset(std::int64_t step) const { return step * parameters_.step_offset; }
  std::int64_t num_later_entries() const;
  void write_keys_and_values(std::span<E* const> entries, std::int64_t step, const float* projected) const;
  void write_filter_input(std::span<E* const> entries, std::int64_t step, const float* normed) const;
  std::vector<const E*> remove_halted(std::span<kernels::SourceRange> ranges) const;
  void convolve();
  void freeze(std::span<E* const> entries);

  const TransformerOptions& options_;
  UniversalLayerParameters<T> parameters_;
  std::int64_t width_;
  SublayerRunner<T> rows_;
  SublayerRunner<T> halted_rows_;  // the rows that halt in this step
  HaltingRows halting_;
  FloatBuffer convolved_buffer_;
  std::span<E* const> entries_;
  const AttendedEntries<E>* attended_ = nullptr;
  std::unordered_map<const E*, std::int64_t> entry_steps_;  // with dropped keys: the number of steps of an entry's row
};

}  // namespace edgewise
