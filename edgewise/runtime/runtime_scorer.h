// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "edgewise/runtime/kv_cache.h"
#include "edgewise/runtime/weights.h"
#include "edgewise/search/scorer.h"
#include "edgewise/search/shortlist.h"

namespace edgewise {

/// The inputs of one call of Scorer::encode, one row per token. Each row attends to all rows of its input. The encoder
/// fills in `attended.entries`, one cache entry per row.
struct EncoderBatch {
  std::vector<std::int64_t> tokens, positions;
  AttendedEntries<float> attended;

  std::int64_t num_rows() const { return std::ssize(tokens); }

  void assign(std::span<const Tokens> inputs) {
    tokens.clear();
    positions.clear();
    attended.clear();
    for (const Tokens& input : inputs) {
      const kernels::SourceRange range = {num_rows(), std::ssize(input)};
      attended.ranges.insert(attended.ranges.end(), input.size(), range);
      tokens.insert(tokens.end(), input.begin(), input.end());
      for (std::int64_t position = 0; position < range.count; ++position) positions.push_back(position);
    }
  }
};

/// Implements RuntimeModel::make_scorer for one type of weights. `weights` must outlive the scorer.
template <typename T>
std::unique_ptr<Scorer> make_runtime_scorer(const Weights<T>& weights, const CrossHeads& recorded_heads,
                                            std::shared_ptr<const Shortlist> shortlist);

/// The part of make_runtime_scorer for Universal Transformers. `recorded_heads.layer` is ignored: steps return
/// the weights of each node's last ponder step.
template <typename T>
std::unique_ptr<Scorer> make_universal_runtime_scorer(const Weights<T>& weights, const CrossHeads& recorded_heads,
                                                      std::shared_ptr<const Shortlist> shortlist);

}  // namespace edgewise
