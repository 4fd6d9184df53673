// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/graph/batch.h"
#include "edgewise/models/universal_transformer.h"
#include "edgewise/search/scorer.h"
#include "tests/models/decoding_slots.h"
#include "tests/models/row_buffer.h"

namespace edgewise {

/// Decodes with a Universal Transformer and a KV cache. Each new node runs its own number of ponder steps. The cache
/// has keys and values for every ponder step. For a node that halts early, the last keys and values are also written
/// for the later steps, because nodes with more steps read them. The model must outlive this object; its parameters
/// must not change while a sentence is decoded.
class UniversalScorer : public Scorer {
 public:
  /// Ignores `recorded.layer`: the attention of a node's last ponder step is recorded. Throws Error for a head that the
  /// model does not have.
  explicit UniversalScorer(const UniversalTransformer& model, CrossHeads recorded = {});

  std::int64_t vocabulary_size() const override { return model_->options().output_vocabulary; }
  void encode(std::span<const std::int64_t> slots, std::span<const Tokens> inputs) override;
  void step(const StepRequest& request, StepResult& result) override;

 private:
  class CachedLayer;

  struct StepCache {
    RowBuffer key;    // [tree nodes, heads, head size]
    RowBuffer value;  // [tree nodes, heads, head size]
    RowBuffer input;  // inputs of the convolution, if it is on: [tree nodes, size of a state]
  };

  const UniversalTransformer* model_;
  CrossHeads recorded_;
  DecodingSlots slots_{"UniversalScorer"};
  RowBuffer cross_key_;                  // [input rows, heads, head size]
  RowBuffer cross_value_;                // [input rows, heads, head size]
  std::vector<StepCache> steps_;         // [ponder steps]
  std::vector<std::int64_t> num_steps_;  // [tree nodes], ponder steps until the node halted
};

}  // namespace edgewise
