// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/runtime/weights.h"
#include "edgewise/kernels/loss/vocabulary_tile.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// From states to what a search wants to know of the next token, tile by tile of the vocabulary: logits are in memory
/// for one tile at a time, unless all are wanted.
class VocabularyOutput {
 public:
  /// All but attention.
  template <typename T>
  void write(const Weights<T>& weights, const Activations<T>& states, const StepRequest& request, StepResult& result);

 private:
  struct TileSizes {
    std::int64_t vocabulary;
    std::int64_t tile;  // all but the last are of that size
  };

  void begin(const StepRequest& request, const TileSizes& sizes, StepResult& result);
  void take_penalties(std::span<const std::uint8_t> allowed);
  void place_logits(const StepRequest& request, std::int64_t first_token, std::int64_t count, const TileSizes& sizes,
                    StepResult& result);
  void take_wanted(const StepRequest& request, std::int64_t first_token, std::int64_t count, StepResult& result) const;
  void finish(const StepRequest& request, std::int64_t vocabulary_size, StepResult& result);
  void write_candidates(const StepRequest& request, std::int64_t row, StepResult& result) const;
  bool is_excluded(const StepRequest& request, std::int64_t row, std::int32_t token) const;

  std::vector<kernels::OutputRow> rows_;
  std::vector<double> log_total_;
  std::vector<float> best_;
  std::vector<std::int32_t> tokens_;
  std::vector<std::uint8_t> allowed_;
  std::vector<float> penalty_;               // of what is allowed; empty: none
  std::vector<float> wanted_logits_;         // [rows with wanted tokens, tile]
  std::vector<std::int64_t> wanted_place_;   // [R]: which of those rows; -1: none
  std::vector<std::size_t> excluded_begin_;  // [R + 1], of request.excluded
};

}  // namespace edgewise
