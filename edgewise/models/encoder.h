// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "edgewise/models/update_graph.h"
#include "edgewise/nn/transformer_layers.h"
#include "edgewise/options/transformer_options.h"

// Shapes: S = encoder nodes, M = size of a node's state.

namespace edgewise {

/// A stack of encoder layers. `operator()` computes all layers fused. `pre_func`, `attention_func` and `post_func`
/// return the graph tutorial's three functions of a layer, for update_graph; the node column "x" holds the state.
/// Encoder and pass must outlive these functions.
struct Encoder {
  std::vector<EncoderLayer> layers;
  Norm norm;  // after the last layer; the identity without final_norm

  Encoder() = default;
  Encoder(const TransformerOptions& options, RandomStream& random);

  /// Maps initial states [S, M] to encoded states [S, M].
  at::Tensor operator()(const Relation& encoder_encoder, const at::Tensor& x_SM, Pass& pass) const;

  /// Computes "q", "k" and "v" from "x".
  NodeFunction pre_func(std::int64_t layer, AttentionFields fields = AttentionFields::kAll) const;
  AttentionFunction attention_func(std::int64_t layer, Pass& pass) const;
  /// Computes the new "x" from "x", "wv" and "z": the rest of the layer and, after the last layer, the final norm.
  NodeFunction post_func(std::int64_t layer, Pass& pass) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("layers", self.layers);
    part("norm", self.norm);
  }
};

}  // namespace edgewise
