// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/encoder_layer.h"

namespace edgewise {

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

NodeState EncoderLayer::operator()(const Relation& relation, const NodeState& state, const Norm& next,
                                   Pass& pass) const {
  const Projections projections = self_attention.get(state.input_TM);
  const at::Tensor average_NHV =
      self_attention.average(relation, projections.query, projections.key, projections.value, pass);
  return finish_layer(state.x_TM, average_NHV, next, pass);
}

at::Tensor EncoderLayer::operator()(const Relation& relation, const at::Tensor& x_NM, Pass& pass) const {
  return (*this)(relation, begin(x_NM, pass), Norm(), pass).x_TM;
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

}  // namespace edgewise
