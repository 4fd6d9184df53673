// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/decoder_layer.h"

namespace edgewise {

DecoderLayer::DecoderLayer(const LayerOptions& options, RandomStream& random)
    : self_attention(MultiHeadAttentionOptions::of(options), random),
      cross_attention(MultiHeadAttentionOptions::of(options), random),
      feed_forward(FeedForwardOptions::of(options), random),
      self_sublayer(options),
      cross_sublayer(options),
      feed_forward_sublayer(options) {}

Projections DecoderLayer::before_self(const at::Tensor& x_DM, AttentionFields fields) const {
  return self_attention.get(self_sublayer.before(x_DM), fields);
}

at::Tensor DecoderLayer::after_self(const at::Tensor& x_DM, const at::Tensor& average_DHV, Pass& pass) const {
  return self_sublayer.after(x_DM, self_attention.get_o(average_DHV), pass);
}

Projections DecoderLayer::before_cross(const at::Tensor& x_NM, AttentionFields fields) const {
  Projections found = cross_attention.get(x_NM, fields & AttentionFields::kKeyValue);
  if (contains(fields, AttentionFields::kQuery)) {
    found.query = cross_attention.get(cross_sublayer.before(x_NM), AttentionFields::kQuery).query;
  }
  return found;
}

NodeState DecoderLayer::attended(const at::Tensor& x_DM, const at::Tensor& seen_DHV, Pass& pass) const {
  return cross_sublayer.after(x_DM, cross_attention.get_o(seen_DHV), feed_forward_sublayer.first_norm(), pass);
}

NodeState DecoderLayer::fed(const NodeState& attended, const Norm& next, Pass& pass) const {
  return feed_forward_sublayer.after(attended.x_TM, feed_forward(attended.read_TM, pass), next, pass);
}

at::Tensor DecoderLayer::after_cross(const at::Tensor& x_DM, const at::Tensor& average_DHV, Pass& pass) const {
  return fed(attended(x_DM, average_DHV, pass), Norm(), pass).x_TM;
}

NodeState DecoderLayer::attended(const Relation& encoder_decoder, const at::Tensor& x_DM, const at::Tensor& heard_DHV,
                                 const Projections& memory, Pass& pass) const {
  const NodeState heard = self_sublayer.after(x_DM, self_attention.get_o(heard_DHV), cross_sublayer.first_norm(), pass);
  const at::Tensor query_DHK = cross_attention.get(heard.read_TM, AttentionFields::kQuery).query;
  const at::Tensor seen_DHV = cross_attention.average(encoder_decoder, query_DHK, memory.key, memory.value, pass);
  return attended(heard.x_TM, seen_DHV, pass);
}

NodeState DecoderLayer::operator()(const Relation& decoder_decoder, const Relation& encoder_decoder,
                                   const NodeState& state, const at::Tensor& encoded_SM, const Norm& next,
                                   Pass& pass) const {
  const Projections self = self_attention.get(state.read_TM);
  const at::Tensor heard_DHV = self_attention.average(decoder_decoder, self.query, self.key, self.value, pass);
  const Projections memory = cross_attention.get(encoded_SM, AttentionFields::kKeyValue);
  return after_self(encoder_decoder, state.x_TM, heard_DHV, memory, next, pass);
}

at::Tensor DecoderLayer::operator()(const Relation& decoder_decoder, const Relation& encoder_decoder,
                                    const at::Tensor& x_DM, const at::Tensor& encoded_SM, Pass& pass) const {
  return (*this)(decoder_decoder, encoder_decoder, begin(x_DM, pass), encoded_SM, Norm(), pass).x_TM;
}

}  // namespace edgewise
