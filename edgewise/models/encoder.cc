// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/encoder.h"

#include "edgewise/base/error.h"
#include "edgewise/nn/message_attention.h"

namespace edgewise {
namespace {

const EncoderLayer& layer_at(const Encoder& encoder, std::int64_t layer) {
  const auto count = static_cast<std::int64_t>(encoder.layers.size());
  check(layer >= 0 && layer < count, "Encoder: layer is {}, needs a number from 0 to {}", layer, count - 1);
  return encoder.layers[static_cast<std::size_t>(layer)];
}

}  // namespace

Encoder::Encoder(const TransformerOptions& options, RandomStream& random) {
  for (std::int64_t i = 0; i < options.encoder_layers; ++i) layers.emplace_back(options, random);
  if (options.final_norm) norm = Norm(options.size, options.norm, options.norm_epsilon);
}

at::Tensor Encoder::operator()(const Relation& encoder_encoder, const at::Tensor& x_SM, Pass& pass) const {
  NodeState state = layers.front().begin(x_SM, pass);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const bool is_last = i + 1 == layers.size();
    state = layers[i](encoder_encoder, state, is_last ? norm : layers[i + 1].self_sublayer.first_norm(), pass);
  }
  return state.input_TM;
}

NodeFunction Encoder::pre_func(std::int64_t layer, AttentionFields fields) const {
  return [&layer = layer_at(*this, layer), fields](const NodeBatch& nodes) {
    return layer.project_qkv(nodes.data("x"), fields).columns();
  };
}

AttentionFunction Encoder::attention_func(std::int64_t layer, Pass& pass) const {
  return attend_by_messages(layer_at(*this, layer).self_attention, pass);
}

NodeFunction Encoder::post_func(std::int64_t layer, Pass& pass) const {
  const EncoderLayer& this_layer = layer_at(*this, layer);
  const bool is_last = &this_layer == &layers.back();
  return [this, &this_layer, is_last, &pass](const NodeBatch& nodes) {
    const at::Tensor x = this_layer.finish_layer(nodes.data("x"), compute_averages(nodes), pass);
    return Columns{{"x", is_last ? norm(x) : x}};
  };
}

}  // namespace edgewise
