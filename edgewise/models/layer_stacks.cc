// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/layer_stacks.h"

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

}  // namespace

at::Tensor Encoder::operator()(const LayerRelations& encoder_encoder, const at::Tensor& x_SM, Pass& pass) const {
  NodeState state = layers.front().begin(x_SM, pass);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    state = layers[i](encoder_encoder.of_layer(i), state, norm_after(*this, i), pass);
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
  return finish(*this, layer_at(*this, layer), pass);
}

at::Tensor Decoder::operator()(const LayerRelations& decoder_decoder, const Relation& encoder_decoder,
                               const at::Tensor& x_DM, const at::Tensor& encoded_SM, Pass& pass) const {
  NodeState state = layers.front().begin(x_DM, pass);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    state = layers[i](decoder_decoder.of_layer(i), encoder_decoder, state, encoded_SM, norm_after(*this, i), pass);
  }
  return state.input_TM;
}

NodeFunction Decoder::pre_func(std::int64_t layer, AttentionFields fields, DecoderAttention which) const {
  return [&layer = layer_at(*this, layer), fields, which](const NodeBatch& nodes) {
    const at::Tensor x = nodes.data("x");
    return (which == DecoderAttention::kSelf ? layer.project_self_qkv(x, fields) : layer.project_cross_qkv(x, fields))
        .columns();
  };
}

AttentionFunction Decoder::attention_func(std::int64_t layer, DecoderAttention which, Pass& pass) const {
  const DecoderLayer& this_layer = layer_at(*this, layer);
  return attend_by_messages(which == DecoderAttention::kSelf ? this_layer.self_attention : this_layer.cross_attention,
                            pass);
}

NodeFunction Decoder::post_func(std::int64_t layer, DecoderAttention which, Pass& pass) const {
  const DecoderLayer& this_layer = layer_at(*this, layer);
  if (which == DecoderAttention::kSelf) {
    return [&this_layer, &pass](const NodeBatch& nodes) {
      return Columns{{"x", this_layer.finish_self_attention(nodes.data("x"), compute_averages(nodes), pass)}};
    };
  }
  return finish(*this, this_layer, pass);
}

}  // namespace edgewise
