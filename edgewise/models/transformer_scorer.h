// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/graph/graph_pool.h"
#include "edgewise/models/growing_rows.h"
#include "edgewise/models/transformer.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// Decodes with a Transformer, a step at a time: computes only the tree's new nodes, and reaches the keys and values of
/// their ancestors, kept per layer in one growing store, by index: a branch copies nothing. Keys and values of the
/// inputs are projected once a batch. The textbook chapter's decoding from a cached state, with the projected keys and
/// values as the state. The model must outlive it, and keep its parameters from start to last step.
class TransformerScorer : public Scorer {
 public:
  explicit TransformerScorer(const Transformer& model) : model_(&model) {}

  std::int64_t vocabulary_size() const override { return model_->options().output_vocabulary; }
  void start(std::span<const Tokens> inputs) override;
  void step(const HypothesisTree& tree, NodeIndex first_node, std::span<float> log_probabilities) override;

 private:
  struct LayerMemory {
    at::Tensor cross_key;  // [encoder nodes, heads, head size]
    at::Tensor cross_value;
    GrowingRows key;  // [tree nodes, heads, head size]
    GrowingRows value;
  };

  at::Tensor embed(const HypothesisTree& tree, NodeIndex first_node, Pass& pass) const;
  at::Tensor layer_step(std::size_t layer, const Relation& ancestors, const Relation& inputs, const at::Tensor& x,
                        Pass& pass);

  const Transformer* model_;
  GraphPool pool_;
  std::vector<std::int64_t> input_lengths_;
  std::vector<LayerMemory> layers_;
};

}  // namespace edgewise
