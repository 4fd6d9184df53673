// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/graph/graph_pool.h"
#include "edgewise/models/decoding_places.h"
#include "edgewise/models/row_store.h"
#include "edgewise/models/universal_transformer.h"
#include "edgewise/search/cross_heads.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// Decodes with a Universal Transformer, a step of the search at a time, each new node in as many steps of thinking as
/// it asks for. Keys and values of nodes are kept for each step of thinking: later nodes may think longer than an
/// earlier one did, and find there what it shows once it has halted. The model must outlive it, and keep its parameters
/// as long as a sentence is decoded.
class UniversalScorer : public Scorer {
 public:
  /// Of `shown`, the layer counts for nothing: a node shows its last step. Throws Error for a head that the model does
  /// not have.
  explicit UniversalScorer(const UniversalTransformer& model, CrossHeads shown = {});

  std::int64_t vocabulary_size() const override { return model_->options().output_vocabulary; }
  void read(std::span<const std::int64_t> places, std::span<const Tokens> inputs) override;
  void step(const StepRequest& request, StepResult& result) override;

 private:
  class Thinking;

  struct Shown {
    RowStore key;  // [tree nodes, heads, head size]
    RowStore value;
    RowStore read;  // [tree nodes, size of a state], by a filter
  };

  const UniversalTransformer* model_;
  CrossHeads shown_;
  GraphPool pool_;
  DecodingPlaces places_{"UniversalScorer"};
  RowStore cross_key_;  // [input tokens, heads, head size]
  RowStore cross_value_;
  std::vector<Shown> steps_;             // what nodes show at each step
  std::vector<std::int64_t> num_steps_;  // that each node took
};

}  // namespace edgewise
