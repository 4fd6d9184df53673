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

at::Tensor DecoderLayer::after_cross(const at::Tensor& x_DM, const at::Tensor& average_DHV, Pass& pass) const {
  const at::Tensor y_DM = cross_sublayer.after(x_DM, cross_attention.get_o(average_DHV), pass);
  return feed_forward_sublayer.after(y_DM, feed_forward(feed_forward_sublayer.before(y_DM), pass), pass);
}

at::Tensor DecoderLayer::operator()(const Relation& decoder_decoder, const Relation& encoder_decoder,
                                    const at::Tensor& x_DM, const at::Tensor& encoded_SM, Pass& pass) const {
  const Projections self = before_self(x_DM);
  const at::Tensor y_DM =
      after_self(x_DM, self_attention.average(decoder_decoder, self.query, self.key, self.value, pass), pass);

  const at::Tensor query_DHK = before_cross(y_DM, AttentionFields::kQuery).query;
  const Projections memory = before_cross(encoded_SM, AttentionFields::kKeyValue);
  return after_cross(y_DM, cross_attention.average(encoder_decoder, query_DHK, memory.key, memory.value, pass), pass);
}

}  // namespace edgewise
