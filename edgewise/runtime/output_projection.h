// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/kernels/loss/logits_tile.h"
#include "edgewise/runtime/shortlist_columns.h"
#include "edgewise/runtime/weights.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// The sums and the largest logits of the rows of a step, which kernels::reduce_logits_tile fills in, and the results
/// that follow from them.
class CandidateRows {
 public:
  /// Begins a step, and allocates the results. Each row has room for the logits that its candidates need: a row with e
  /// excluded tokens needs the num_candidates + e largest ones, because up to e of these may be excluded.
  void begin(const StepRequest& request, std::int64_t vocabulary_size, StepResult& result);

  std::vector<kernels::LogSumExpTopK>& rows() { return rows_; }
  const std::vector<kernels::LogSumExpTopK>& rows() const { return rows_; }
  std::vector<float>& top_logits() { return top_logits_; }         // the rows follow each other
  std::vector<std::int32_t>& top_tokens() { return top_tokens_; }  // likewise

  /// Returns what reduce_logits_tile subtracts from the logits of all tokens, by StepRequest::allowed; empty if all
  /// tokens are allowed.
  std::span<const float> penalties() const { return penalty_; }

  /// Writes the candidates, and turns the logits in `result` into log-probabilities.
  void write(const StepRequest& request, StepResult& result);

 private:
  void index_excluded(const StepRequest& request);
  void allocate_candidates(std::int64_t num_candidates);
  void update_penalties(std::span<const std::uint8_t> allowed);
  void write_candidates(const StepRequest& request, std::int64_t row, StepResult& result) const;

  std::int64_t vocabulary_size_ = 0;
  std::vector<kernels::LogSumExpTopK> rows_;
  std::vector<double> log_sum_exp_;  // [R]
  std::vector<float> top_logits_;
  std::vector<std::int32_t> top_tokens_;
  std::vector<std::uint8_t> allowed_;
  std::vector<float> penalty_;               // [vocabulary], by `allowed_`
  std::vector<std::size_t> excluded_begin_;  // [R + 1], offsets into request.excluded
};

/// Computes candidates and log-probabilities of the next token from the decoder's final states. The vocabulary is
/// processed in tiles: only the logits of a few tiles are in memory, unless a request asks for all log-probabilities.
/// With a shortlist, a row is normalised over the tokens that the shortlist selects for its input; the other tokens
/// have the log-probability -inf.
class OutputProjection {
 public:
  /// Writes all fields of `result` but `attention` and `ponder_steps`. `states` has one row per node of the request.
  template <typename T>
  void write(const Weights<T>& weights, const Activations<T>& states, const StepRequest& request,
             ShortlistColumns<T>& shortlist, StepResult& result);

 private:
  template <typename T>
  void reduce_selected(ShortlistColumns<T>& shortlist, const Activations<T>& states, const StepRequest& request,
                       StepResult& result);
  template <typename T>
  void reduce_selected_row(const ShortlistColumns<T>& shortlist, std::int64_t row, const StepRequest& request,
                           StepResult& result);

  template <typename T>
  void reduce_tiles(const Weights<T>& weights, const Activations<T>& states, const StepRequest& request,
                    StepResult& result);

  void allocate_wanted(const StepRequest& request);

  void set_logits_out(const StepRequest& request, std::int64_t first_token, std::int64_t count, StepResult& result);
  void copy_wanted_logits(const StepRequest& request, std::int64_t first_token, std::int64_t count, StepResult& result);

  std::int64_t vocabulary_size_ = 0;
  std::int64_t tile_size_ = 0;  // columns of each tile but the last
  CandidateRows candidates_;
  std::vector<float> group_logits_;       // logits of some tiles (GroupedLogits)
  std::vector<float> wanted_logits_;      // [rows with wanted tokens, tile]
  std::vector<std::int64_t> wanted_row_;  // [R], index into `wanted_logits_`; -1: the row has no wanted tokens
};

}  // namespace edgewise
