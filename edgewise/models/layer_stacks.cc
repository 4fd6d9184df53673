// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/layer_stacks.h"

#include <ATen/ops/tensor.h>

#include <array>
#include <numeric>
#include <type_traits>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

template <class Stack>
const auto& layer_at(const Stack& stack, std::int64_t layer) {
  constexpr const char* kName = std::is_same_v<Stack, Encoder> ? "Encoder" : "Decoder";
  const std::int64_t count = std::ssize(stack.layers);
  check(layer >= 0 && layer < count, "{}: layer is {}, needs a number from 0 to {}", kName, layer, count - 1);
  return stack.layers[static_cast<std::size_t>(layer)];
}

/// Returns the norm that follows a layer: the next layer's first one, or the final norm.
template <class Layer>
const Norm& norm_after(const LayerStack<Layer>& stack, std::size_t layer) {
  return layer + 1 == stack.layers.size() ? stack.norm : stack.layers[layer + 1].self_sublayer.first_norm();
}

/// Returns the function that finishes a layer and, if it is the last one, applies the final norm.
template <class Layer>
NodeFunction finish(const LayerStack<Layer>& stack, const Layer& layer, Pass& pass) {
  const bool is_last = &layer == &stack.layers.back();
  return [&stack, &layer, is_last, &pass](const NodeBatch& nodes) {
    const at::Tensor x = layer.finish_layer(nodes.data("x"), compute_averages(nodes), pass);
    return Columns{{"x", is_last ? stack.norm(x) : x}};
  };
}

/// Turns the queries and keys of nodes by the column "rotation".
Projections rotate_nodes(Projections projections, const RelativePositions& positions, const NodeBatch& nodes) {
  if (!positions.has_rotation()) return projections;
  PositionRows rotation = {nodes.data("rotation"), {}};
  rotation.rows.resize(static_cast<std::size_t>(rotation.table_PM.size(0)));
  std::iota(rotation.rows.begin(), rotation.rows.end(), 0);
  return rotate(std::move(projections), rotation);
}

/// Returns an attention of a layer as a function.
AttentionFunction attend_by_positions(const MultiHeadAttention& attention, const RelativePositions& positions,
                                      Pass& pass) {
  if (!positions.has_bias()) return attend_by_messages(attention, pass);
  return attend_by_messages(attention, pass,
                            [&positions](const at::Tensor& distance_E) { return positions.bias(distance_E); });
}

}  // namespace

template <class Layer>
Columns LayerStack<Layer>::position_columns(std::span<const std::int64_t> node_positions,
                                            const at::TensorOptions& options) const {
  Columns columns;
  if (positions.has_rotation()) columns["rotation"] = positions.rotation_of(node_positions, options);
  if (positions.has_bias()) {
    columns["position"] = at::tensor(at::ArrayRef<std::int64_t>(node_positions.data(), node_positions.size()));
  }
  return columns;
}

template struct LayerStack<EncoderLayer>;
template struct LayerStack<DecoderLayer>;

at::Tensor Encoder::operator()(const LayerRelations& encoder_encoder, const at::Tensor& x_SM, Pass& pass,
                               std::span<const std::int64_t> node_positions) const {
  const SelfPositions self_positions = positions.of_nodes(node_positions, x_SM.options());
  NodeState state = layers.front().begin(x_SM, pass);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    state = layers[i](AttentionEdges(encoder_encoder.of_layer(i), self_positions), state, norm_after(*this, i), pass);
  }
  return state.input_TM;
}

NodeFunction Encoder::pre_func(std::int64_t layer, AttentionFields fields) const {
  return [this, &layer = layer_at(*this, layer), fields](const NodeBatch& nodes) {
    return rotate_nodes(layer.project_qkv(nodes.data("x"), fields), positions, nodes).columns();
  };
}

AttentionFunction Encoder::attention_func(std::int64_t layer, Pass& pass) const {
  return attend_by_positions(layer_at(*this, layer).self_attention, positions, pass);
}

NodeFunction Encoder::post_func(std::int64_t layer, Pass& pass) const {
  return finish(*this, layer_at(*this, layer), pass);
}

at::Tensor Decoder::operator()(const LayerRelations& decoder_decoder, const Relation& encoder_decoder,
                               const at::Tensor& x_DM, const at::Tensor& encoded_SM, Pass& pass,
                               std::span<const std::int64_t> node_positions) const {
  const std::array all = {std::ssize(layers)};
  return states_at(all, {decoder_decoder, encoder_decoder, node_positions}, x_DM, encoded_SM, pass).front();
}

std::vector<at::Tensor> Decoder::states_at(std::span<const std::int64_t> depths, const DecoderEdges& edges,
                                           const at::Tensor& x_DM, const at::Tensor& encoded_SM, Pass& pass,
                                           std::vector<at::Tensor>* before_norm) const {
  const SelfPositions self_positions = positions.of_nodes(edges.node_positions, x_DM.options());
  const SelfPositions between = cross_positions.between(edges.node_positions, edges.source_positions, x_DM.device());
  const AttentionEdges cross_edges(edges.encoder_decoder, between);
  NodeState state = layers.front().begin(x_DM, pass);
  std::vector<at::Tensor> states;
  for (std::size_t i = 0; i < layers.size() && states.size() < depths.size(); ++i) {
    const AttentionEdges self_edges(edges.decoder_decoder.of_layer(i), self_positions);
    state = layers[i](self_edges, cross_edges, state, encoded_SM, norm_after(*this, i), pass);
    if (depths[states.size()] != static_cast<std::int64_t>(i) + 1) continue;
    const bool is_last = i + 1 == layers.size();
    if (before_norm != nullptr) before_norm->push_back(state.x_TM);
    states.push_back(is_last ? state.input_TM : norm(state.x_TM, pass.type_of(state.x_TM)));
  }
  return states;
}

NodeFunction Decoder::pre_func(std::int64_t layer, AttentionFields fields, DecoderAttention which) const {
  return [this, &layer = layer_at(*this, layer), fields, which](const NodeBatch& nodes) {
    const at::Tensor x = nodes.data("x");
    if (which == DecoderAttention::kCross) return layer.project_cross_qkv(x, fields).columns();
    if (layer.ssru.is_on()) return layer.ssru.project(layer.self_sublayer.prepare_input(x));
    return rotate_nodes(layer.project_self_qkv(x, fields), positions, nodes).columns();
  };
}

AttentionFunction Decoder::attention_func(std::int64_t layer, DecoderAttention which, Pass& pass) const {
  const DecoderLayer& this_layer = layer_at(*this, layer);
  if (which == DecoderAttention::kCross) return attend_by_positions(this_layer.cross_attention, cross_positions, pass);
  if (this_layer.ssru.is_on()) return propagate_cells;
  return attend_by_positions(this_layer.self_attention, positions, pass);
}

NodeFunction Decoder::post_func(std::int64_t layer, DecoderAttention which, Pass& pass) const {
  const DecoderLayer& this_layer = layer_at(*this, layer);
  if (which == DecoderAttention::kSelf) {
    return [&this_layer, &pass](const NodeBatch& nodes) {
      const at::Tensor x = nodes.data("x");
      if (this_layer.ssru.is_on()) return Columns{{"x", this_layer.finish_ssru(x, nodes.data("cell"), pass)}};
      return Columns{{"x", this_layer.finish_self_attention(x, compute_averages(nodes), pass)}};
    };
  }
  return finish(*this, this_layer, pass);
}

}  // namespace edgewise
