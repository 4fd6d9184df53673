// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "edgewise/graph/batch.h"
#include "edgewise/options/transformer_options.h"
#include "edgewise/runtime/kv_cache.h"
#include "edgewise/runtime/weights.h"
#include "edgewise/search/scorer.h"
#include "edgewise/search/shortlist.h"

namespace edgewise {

/// The inputs of one call of Scorer::encode, one row per token. Each row attends to all rows of its input. The encoder
/// fills in `attended.entries`, one cache entry per row.
struct EncoderBatch {
  std::vector<std::int64_t> tokens, positions;
  std::vector<std::int64_t> mirrored;  // positions in the mirrored inputs; empty unless the model reads them
  AttendedEntries<float> attended;

  std::int64_t num_rows() const { return std::ssize(tokens); }

  void assign(std::span<const Tokens> inputs, const TransformerOptions& options) {
    tokens.clear();
    positions.clear();
    mirrored.clear();
    attended.clear();
    for (const Tokens& input : inputs) {
      const kernels::SourceRange range = {num_rows(), std::ssize(input)};
      attended.ranges.insert(attended.ranges.end(), input.size(), range);
      tokens.insert(tokens.end(), input.begin(), input.end());
      for (std::int64_t position = 0; position < range.count; ++position) {
        positions.push_back(position);
        if (options.has_mirrored_vectors()) mirrored.push_back(mirrored_number(position, range.count));
      }
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
