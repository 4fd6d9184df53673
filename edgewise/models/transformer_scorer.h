// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/graph/graph_pool.h"
#include "edgewise/models/decoding_places.h"
#include "edgewise/models/row_store.h"
#include "edgewise/models/transformer.h"
#include "edgewise/search/cross_heads.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// Decodes with a Transformer, a step at a time: computes only the new nodes, and reaches the keys and values of their
/// ancestors, kept per layer in one store, by index: a branch copies nothing, and a sentence that is forgotten leaves
/// its rows to others. Keys and values of an input are projected once. The textbook chapter's decoding from a cached
/// state, with the projected keys and values as the state. The model must outlive it, and keep its parameters as long
/// as a sentence is decoded.
class TransformerScorer : public Scorer {
 public:
  /// Throws Error for heads that the model does not have.
  explicit TransformerScorer(const Transformer& model, CrossHeads shown = {});

  std::int64_t vocabulary_size() const override { return model_->options().output_vocabulary; }
  void read(std::span<const std::int64_t> places, std::span<const Tokens> inputs) override;
  void step(const StepRequest& request, StepResult& result) override;

 private:
  struct LayerMemory {
    RowStore cross_key;  // [input tokens, heads, head size], each sentence's in its interval
    RowStore cross_value;
    RowStore key;  // [tree nodes, heads, head size]
    RowStore value;
  };
  at::Tensor layer_step(std::size_t layer, const DecodingPlaces::NewNodes& nodes, const at::Tensor& x, Pass& pass,
                        std::vector<float>* attention);

  const Transformer* model_;
  CrossHeads shown_;
  GraphPool pool_;
  DecodingPlaces places_{"TransformerScorer"};
  std::vector<LayerMemory> layers_;
};

}  // namespace edgewise
