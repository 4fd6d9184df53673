// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "edgewise/runtime/candidate_rows.h"
#include "edgewise/runtime/weights.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// Computes candidates and log-probabilities of the next token from the decoder's final states. The vocabulary is
/// processed in tiles: only the logits of a few tiles are in memory, unless a request asks for all log-probabilities.
class OutputProjection {
 public:
  /// Writes all fields of `result` but `attention` and `ponder_steps`. `states` has one row per node of the request.
  template <typename T>
  void write(const Weights<T>& weights, const Activations<T>& states, const StepRequest& request, StepResult& result);

 private:
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
