// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/transformer_layers.h"

#include <vector>

namespace edgewise {

FeedForward::FeedForward(const LayerOptions& options, RandomStream& random)
    : activation(options.activation), dropout(options.dropout.activation) {
  const Bias bias = options.feed_forward_bias ? Bias::kZero : Bias::kNone;
  if (options.feed_forward_gate) gate = Linear(options.size, options.feed_forward, bias, random);
  inner = Linear(options.size, options.feed_forward, bias, random);
  outer = Linear(options.feed_forward, options.size, bias, random);
}

at::Tensor FeedForward::operator()(const at::Tensor& x, Pass& pass) const {
  LinearOptions options = {.activation = activation};
  pass.set_dropout(dropout, options);
  if (!gate.weight.defined()) return outer(inner(x, options));
  const LinearWeights layers[] = {gate.weights(), inner.weights()};
  const std::vector<at::Tensor> results = linear_group(gate.operand(x), layers);
  return outer(edgewise::gate(results[0], results[1], options));
}

EncoderLayer::EncoderLayer(const LayerOptions& options, RandomStream& random)
    : self_attention(MultiHeadAttentionOptions::from_layer(options), random),
      feed_forward(options, random),
      self_sublayer(options),
      feed_forward_sublayer(options) {}

Projections EncoderLayer::project_qkv(const at::Tensor& x_NM, AttentionFields fields) const {
  return self_attention.get(self_sublayer.prepare_input(x_NM), fields);
}

NodeState EncoderLayer::finish_attention(const at::Tensor& x_NM, const at::Tensor& average_NHV, Pass& pass) const {
  return self_sublayer.add_output(x_NM, self_attention.get_o(average_NHV), feed_forward_sublayer.first_norm(), pass);
}

NodeState EncoderLayer::apply_feed_forward(const NodeState& state, const Norm& next, Pass& pass) const {
  return feed_forward_sublayer.add_output(state.x_TM, feed_forward(state.input_TM, pass), next, pass);
}

at::Tensor EncoderLayer::finish_layer(const at::Tensor& x_NM, const at::Tensor& average_NHV, Pass& pass) const {
  return finish_layer(x_NM, average_NHV, Norm(), pass).x_TM;
}

NodeState EncoderLayer::operator()(const AttentionEdges& edges, const NodeState& state, const Norm& next,
                                   Pass& pass) const {
  return finish_layer(state.x_TM, self_attention.average_self(edges, state.input_TM, pass), next, pass);
}

at::Tensor EncoderLayer::operator()(const AttentionEdges& edges, const at::Tensor& x_NM, Pass& pass) const {
  return (*this)(edges, begin(x_NM, pass), Norm(), pass).x_TM;
}

EncoderLayer transformer_block(std::int64_t size, std::int64_t heads, RandomStream& random) {
  LayerOptions options;
  options.size = size;
  options.heads = heads;
  options.feed_forward = 4 * size;
  options.norm_placement = NormPlacement::kPost;
  options.dropout = {.embedding = 0.0, .residual = 0.0, .attention = 0.0, .activation = 0.0};
  return EncoderLayer(options, random);
}

DecoderLayer::DecoderLayer(const LayerOptions& options, RandomStream& random)
    : self_attention(options.decoder_mixer == DecoderMixer::kAttention
                         ? MultiHeadAttention(MultiHeadAttentionOptions::from_layer(options), random)
                         : MultiHeadAttention()),
      ssru(options.decoder_mixer == DecoderMixer::kSsru ? Ssru(options.size, random) : Ssru()),
      cross_attention(MultiHeadAttentionOptions::from_layer(options), random),
      feed_forward(options, random),
      self_sublayer(options),
      cross_sublayer(options),
      feed_forward_sublayer(options) {}

Projections DecoderLayer::project_self_qkv(const at::Tensor& x_DM, AttentionFields fields) const {
  return self_attention.get(self_sublayer.prepare_input(x_DM), fields);
}

at::Tensor DecoderLayer::finish_self_attention(const at::Tensor& x_DM, const at::Tensor& average_DHV,
                                               Pass& pass) const {
  return self_sublayer.add_output(x_DM, self_attention.get_o(average_DHV), pass);
}

at::Tensor DecoderLayer::finish_ssru(const at::Tensor& x_DM, const at::Tensor& cell_DM, Pass& pass) const {
  return self_sublayer.add_output(x_DM, cell_DM.relu(), pass);
}

Projections DecoderLayer::project_cross_qkv(const at::Tensor& x_NM, AttentionFields fields) const {
  Projections projections = cross_attention.get(x_NM, fields & AttentionFields::kKeyValue);
  if (contains(fields, AttentionFields::kQuery)) {
    projections.query = cross_attention.get(cross_sublayer.prepare_input(x_NM), AttentionFields::kQuery).query;
  }
  return projections;
}

NodeState DecoderLayer::finish_cross_attention(const at::Tensor& x_DM, const at::Tensor& cross_average_DHV,
                                               Pass& pass) const {
  return cross_sublayer.add_output(x_DM, cross_attention.get_o(cross_average_DHV), feed_forward_sublayer.first_norm(),
                                   pass);
}

NodeState DecoderLayer::apply_feed_forward(const NodeState& state, const Norm& next, Pass& pass) const {
  return feed_forward_sublayer.add_output(state.x_TM, feed_forward(state.input_TM, pass), next, pass);
}

at::Tensor DecoderLayer::finish_layer(const at::Tensor& x_DM, const at::Tensor& average_DHV, Pass& pass) const {
  return apply_feed_forward(finish_cross_attention(x_DM, average_DHV, pass), Norm(), pass).x_TM;
}

at::Tensor DecoderLayer::mix(const AttentionEdges& decoder_decoder, const at::Tensor& input_DM, Pass& pass) const {
  if (ssru.is_on()) return ssru(decoder_decoder.relation, input_DM);
  return self_attention.get_o(self_attention.average_self(decoder_decoder, input_DM, pass));
}

NodeState DecoderLayer::attend_encoder(const AttentionEdges& encoder_decoder, const at::Tensor& x_DM,
                                       const at::Tensor& mixed_DM, const Projections& encoder_kv, Pass& pass) const {
  const NodeState state = self_sublayer.add_output(x_DM, mixed_DM, cross_sublayer.first_norm(), pass);
  const at::Tensor query_DHK = cross_attention.get(state.input_TM, AttentionFields::kQuery).query;
  const at::Tensor cross_average_DHV = cross_attention.average(encoder_decoder.relation, query_DHK, encoder_kv.key,
                                                               encoder_kv.value, pass, encoder_decoder.positions.bias);
  return finish_cross_attention(state.x_TM, cross_average_DHV, pass);
}

NodeState DecoderLayer::operator()(const AttentionEdges& decoder_decoder, const AttentionEdges& encoder_decoder,
                                   const NodeState& state, const at::Tensor& encoded_SM, const Norm& next,
                                   Pass& pass) const {
  const at::Tensor mixed_DM = mix(decoder_decoder, state.input_TM, pass);
  const Projections encoder_kv = cross_attention.get(encoded_SM, AttentionFields::kKeyValue);
  return apply_feed_forward(attend_encoder(encoder_decoder, state.x_TM, mixed_DM, encoder_kv, pass), next, pass);
}

at::Tensor DecoderLayer::operator()(const AttentionEdges& decoder_decoder, const AttentionEdges& encoder_decoder,
                                    const at::Tensor& x_DM, const at::Tensor& encoded_SM, Pass& pass) const {
  return (*this)(decoder_decoder, encoder_decoder, begin(x_DM, pass), encoded_SM, Norm(), pass).x_TM;
}

}  // namespace edgewise
