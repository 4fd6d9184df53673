// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "edgewise/graph/batch.h"
#include "edgewise/models/transformer.h"
#include "edgewise/search/scorer.h"
#include "tests/models/decoding_slots.h"
#include "tests/models/row_buffer.h"

namespace edgewise {

/// Decodes with a Transformer and a KV cache: the textbook chapter's incremental decoding. A step computes its new
/// nodes only and reads the cached keys and values of their ancestors by index, so that hypotheses with common
/// ancestors share them without copies. Rows of a cleared slot are reused. The model must outlive this object; its
/// parameters must not change while a sentence is decoded.
class TransformerScorer : public Scorer {
 public:
  /// Throws Error for a layer or a head that the model does not have.
  explicit TransformerScorer(const Transformer& model, CrossHeads recorded = {});

  std::int64_t vocabulary_size() const override { return model_->options().output_vocabulary; }
  void encode(std::span<const std::int64_t> slots, std::span<const Tokens> inputs) override;
  void step(const StepRequest& request, StepResult& result) override;

 private:
  struct LayerCache {
    RowBuffer cross_key;    // [input rows, heads, head size]
    RowBuffer cross_value;  // [input rows, heads, head size]
    RowBuffer key;          // [tree nodes, heads, head size]
    RowBuffer value;        // [tree nodes, heads, head size]
    RowBuffer cell;         // [tree nodes, size], of an SSRU
  };
  /// Returns what self-attention of new nodes reads of their positions and those of the ancestors it attends to.
  SelfPositions read_positions(const DecodingSlots::NewNodes& nodes, const Relation& ancestors,
                               const at::TensorOptions& options);
  /// Returns what is added to scores of cross-attention, if anything.
  std::optional<Score> cross_bias(const DecodingSlots::NewNodes& nodes) const;
  /// Returns the ancestors of the new nodes that the layer's pattern permits.
  Relation select_ancestors(const DecodingSlots::NewNodes& nodes, std::size_t layer) const;
  /// Runs self-attention or an SSRU of a layer for the states `x` of new nodes.
  at::Tensor run_self_attention(std::size_t layer, const DecodingSlots::NewNodes& nodes, const at::Tensor& x,
                                Pass& pass);
  at::Tensor run_ssru(std::size_t layer, const DecodingSlots::NewNodes& nodes, const at::Tensor& x, Pass& pass);
  /// Writes the recorded weights of active nodes.
  void record_attention(const DecodingSlots::NewNodes& nodes, const at::Tensor& weights_EH,
                        std::vector<float>& attention) const;
  /// Halts nodes at an exit after the first `layers` layers. Sets the elements of `last` that belong to these.
  void halt(std::int64_t layers, const DecodingSlots::NewNodes& nodes, const at::Tensor& x,
            std::vector<std::int64_t>& last);
  at::Tensor run_layer(std::size_t layer, const DecodingSlots::NewNodes& nodes, const at::Tensor& x, Pass& pass,
                       std::vector<float>* attention);

  const Transformer* model_;
  CrossHeads recorded_;
  DecodingSlots slots_{"TransformerScorer"};
  std::vector<LayerCache> layers_;
  std::vector<std::int64_t> positions_;  // of all nodes of the forest
  at::Tensor is_active_;                 // bool, [new nodes, 1]: whether a node has halted at no exit
};

}  // namespace edgewise
