// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "edgewise/models/update_graph.h"
#include "edgewise/nn/encoder_layer.h"
#include "edgewise/options/transformer_options.h"

// Shapes: S = encoder nodes, M = size of a node's state.

namespace edgewise {

/// Layers of self-attention. Two ways through: `operator()` is fused; `pre_func`, `attention_func` and `post_func` are
/// the three steps of a layer for update_graph, as the graph tutorial writes them. The node column "x"
/// holds the state. The functions hold on to the encoder and the pass: use them while both live.
struct Encoder {
  std::vector<EncoderLayer> layers;
  Norm norm;  // behind the last layer, if at all

  Encoder() = default;
  Encoder(const TransformerOptions& options, RandomStream& random);

  /// [S, M] to [S, M].
  at::Tensor operator()(const Relation& encoder_encoder, const at::Tensor& x_SM, Pass& pass) const;

  /// From "x" to "q", "k" and "v".
  NodeFunction pre_func(std::int64_t layer, AttentionFields fields = AttentionFields::kAll) const;
  AttentionStep attention_func(std::int64_t layer, Pass& pass) const;
  /// From "x", "wv" and "z" to "x": the rest of the layer, and of the last one the final norm.
  NodeFunction post_func(std::int64_t layer, Pass& pass) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("layers", self.layers);
    part("norm", self.norm);
  }
};

}  // namespace edgewise
