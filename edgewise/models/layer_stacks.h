// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "edgewise/message/message_graph.h"
#include "edgewise/models/layer_relations.h"
#include "edgewise/nn/message_attention.h"
#include "edgewise/nn/relative_positions.h"
#include "edgewise/nn/transformer_layers.h"
#include "edgewise/options/transformer_options.h"

// Shapes: D = decoder nodes, S = encoder nodes, M = size of a node's state.

namespace edgewise {

/// A node function and the numbers of the nodes that it is applied to.
using NodeUpdate = std::pair<NodeFunction, at::Tensor>;

/// Runs attention by message passing along the given edges.
using AttentionFunction = std::function<void(MessageGraph& graph, const at::Tensor& edges)>;

/// Returns the attention of a layer as such a function. Layer and pass must outlive the function.
inline AttentionFunction attend_by_messages(const MultiHeadAttention& attention, Pass& pass,
                                            const DistanceBias& bias = nullptr) {
  return [&, bias](MessageGraph& graph, const at::Tensor& edges) {
    propagate_attention(graph, edges, attention, pass, bias);
  };
}

/// Applies `pre` to nodes, runs `attention` along `edges`, then applies `post` to nodes: one step of the graph
/// tutorial's models. Edges and nodes may be any subset of the graph's. The attention result of a node without edges is
/// zeros.
inline void update_graph(MessageGraph& graph, const at::Tensor& edges, const std::vector<NodeUpdate>& pre,
                         const std::vector<NodeUpdate>& post, const AttentionFunction& attention) {
  for (const auto& [function, nodes] : pre) graph.apply_nodes(function, nodes);
  attention(graph, edges);
  for (const auto& [function, nodes] : post) graph.apply_nodes(function, nodes);
}

/// The layers of an encoder or a decoder. Shared layers are copies that have the tensors of the first one.
template <class Layer>
struct LayerStack {
  std::vector<Layer> layers;
  RelativePositions positions;  // act in the self-attention of each layer
  Norm norm;                    // after the last layer; the identity without final_norm

  LayerStack() = default;
  LayerStack(const TransformerOptions& options, std::int64_t num_layers, bool is_causal, RandomStream& random) {
    for (std::int64_t i = 0; i < options.num_own_layers(num_layers); ++i) layers.emplace_back(options, random);
    while (std::ssize(layers) < num_layers) layers.push_back(Layer(layers.front()));
    positions = RelativePositions(options, is_causal, random);
    if (options.final_norm) norm = Norm(options);
  }

  /// Returns what message passing reads of the positions of nodes: "rotation" and "position", if the layers need them.
  Columns position_columns(std::span<const std::int64_t> node_positions, const at::TensorOptions& options) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("layers", self.layers);
    part("position_bias", self.positions.bias_BH);
    part("norm", self.norm);
  }
};

/// A stack of encoder layers, which are also the layers of a language model. `operator()` computes all layers fused.
/// `pre_func`, `attention_func` and `post_func` return the graph tutorial's three functions of a layer, for
/// update_graph; the node column "x" holds the state, and position_columns() are columns, too. Encoder and pass must
/// outlive these functions.
struct Encoder : LayerStack<EncoderLayer> {
  Encoder() = default;
  Encoder(const TransformerOptions& options, RandomStream& random)
      : LayerStack(options, options.encoder_layers, /*is_causal=*/false, random) {}
  using LayerStack::LayerStack;

  /// Maps initial states [S, M] to encoded states [S, M]. `node_positions`, [S], are read with relative positions
  /// alone.
  at::Tensor operator()(const LayerRelations& encoder_encoder, const at::Tensor& x_SM, Pass& pass,
                        std::span<const std::int64_t> node_positions = {}) const;

  /// Computes "q", "k" and "v" from "x".
  NodeFunction pre_func(std::int64_t layer, AttentionFields fields = AttentionFields::kAll) const;
  AttentionFunction attention_func(std::int64_t layer, Pass& pass) const;
  /// Computes the new "x" from "x", "wv" and "z": the rest of the layer and, after the last layer, the final norm.
  NodeFunction post_func(std::int64_t layer, Pass& pass) const;
};

/// The two attentions of a decoder layer, in the order in which they run. With an SSRU, kSelf stands for this.
enum class DecoderAttention { kSelf, kCross };

/// The relations of a batch that a decoder reads. It reads the positions of the decoder nodes, [D], with relative
/// positions alone, and those of the encoder nodes, [S], with cross_distance alone (options/transformer_options.h).
struct DecoderEdges {
  const LayerRelations& decoder_decoder;
  const Relation& encoder_decoder;
  std::span<const std::int64_t> node_positions = {};
  std::span<const std::int64_t> source_positions = {};
};

/// A stack of decoder layers, fused or as functions for update_graph, as in Encoder.
struct Decoder : LayerStack<DecoderLayer> {
  RelativePositions cross_positions;  // act in the cross-attention of each layer

  Decoder() = default;
  Decoder(const TransformerOptions& options, RandomStream& random)
      : LayerStack(options, options.decoder_layers, /*is_causal=*/true, random) {
    if (options.cross_distance) cross_positions = RelativePositions(options, /*is_causal=*/false, random);
  }

  /// Maps initial states [D, M] to final states [D, M]. `node_positions`, [D], are read with relative positions alone.
  at::Tensor operator()(const LayerRelations& decoder_decoder, const Relation& encoder_decoder, const at::Tensor& x_DM,
                        const at::Tensor& encoded_SM, Pass& pass,
                        std::span<const std::int64_t> node_positions = {}) const;

  /// Returns the result of operator() for each decoder that has only the first layers of this one: as many as a number
  /// in `depths` says, which ascend. Appends the states before the final norm to `before_norm` unless it is null.
  std::vector<at::Tensor> states_at(std::span<const std::int64_t> depths, const DecoderEdges& edges,
                                    const at::Tensor& x_DM, const at::Tensor& encoded_SM, Pass& pass,
                                    std::vector<at::Tensor>* before_norm = nullptr) const;

  /// Computes "q", "k" and "v" from "x", or "gate" and "cell" of an SSRU. For kCross, apply kQuery to decoder nodes and
  /// kKeyValue to encoder nodes, whose states are not normalised again.
  NodeFunction pre_func(std::int64_t layer, AttentionFields fields = AttentionFields::kAll,
                        DecoderAttention which = DecoderAttention::kSelf) const;
  AttentionFunction attention_func(std::int64_t layer, DecoderAttention which, Pass& pass) const;
  /// Computes the new "x" from "x", "wv" and "z", or "cell" of an SSRU. With kCross the function includes feed-forward
  /// and, after the last layer, the final norm.
  NodeFunction post_func(std::int64_t layer, DecoderAttention which, Pass& pass) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    LayerStack::list_parts(self, part);
    part("cross_position_bias", self.cross_positions.bias_BH);
  }
};

}  // namespace edgewise
