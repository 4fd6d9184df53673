// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "edgewise/kernels/attention/attention.h"

// The reference for bf16 computes in float and rounds the results once, at the end.
namespace edgewise::kernels::reference {
namespace {

void round_to(const std::vector<float>& from, BFloat16* to) {
  std::transform(from.begin(), from.end(), to, [](float x) { return BFloat16(x); });
}

// The arguments of attention as floats, and the results before rounding. The results start as copies of the results in
// p, so that heads that are not computed keep their values.
class FloatAttention {
 public:
  FloatAttention(const AttentionForward<BFloat16>& p, const RelationView& relation)
      : num_rows_(relation.num_destinations * p.num_heads),
        num_sources_(relation.num_sources * p.num_heads),
        query_(p.query, p.query + num_rows_ * p.head_size),
        key_(p.key, p.key + num_sources_ * p.head_size),
        log_normalizer_(num_rows_) {
    if (p.value != nullptr) value_.assign(p.value, p.value + num_sources_ * p.value_size);
    if (p.out != nullptr) out_.assign(p.out, p.out + num_rows_ * p.value_size);
    if (p.log_normalizer != nullptr) log_normalizer_.assign(p.log_normalizer, p.log_normalizer + num_rows_);
    forward_ = {.query = query_.data(),
                .key = key_.data(),
                .value = value_.data(),
                .edge_bias = p.edge_bias,
                .out = out_.data(),
                .log_normalizer = log_normalizer_.data(),
                .num_heads = p.num_heads,
                .head_size = p.head_size,
                .value_size = p.value_size,
                .scale = p.scale,
                .clamp = p.clamp,
                .dropout = p.dropout,
                .only_head = p.only_head};
  }

  const AttentionForward<float>& forward() const { return forward_; }
  const std::vector<float>& out() const { return out_; }
  const std::vector<float>& log_normalizer() const { return log_normalizer_; }

 private:
  std::int64_t num_rows_;
  std::int64_t num_sources_;
  std::vector<float> query_, key_, value_, out_, log_normalizer_;
  AttentionForward<float> forward_;
};

}  // namespace

template <>
void attention_forward(const AttentionForward<BFloat16>& p, const RelationView& relation) {
  const FloatAttention in_float(p, relation);
  attention_forward(in_float.forward(), relation);
  round_to(in_float.out(), p.out);
  std::ranges::copy(in_float.log_normalizer(), p.log_normalizer);
}

template <>
void attention_backward(const AttentionBackward<BFloat16>& p, const RelationView& relation) {
  const AttentionForward<BFloat16>& f = p.forward;
  const FloatAttention in_float(f, relation);
  attention_forward(in_float.forward(), relation);
  const std::vector<float> grad_out(p.grad_out, p.grad_out + in_float.out().size());
  const std::int64_t num_rows = relation.num_destinations * f.num_heads;
  const std::int64_t num_sources = relation.num_sources * f.num_heads;
  std::vector<float> grad_query(p.grad_query, p.grad_query + num_rows * f.head_size);
  std::vector<float> grad_key(p.grad_key, p.grad_key + num_sources * f.head_size);
  std::vector<float> grad_value(p.grad_value, p.grad_value + num_sources * f.value_size);
  const AttentionBackward<float> backward = {.forward = in_float.forward(),
                                             .grad_out = grad_out.data(),
                                             .grad_query = grad_query.data(),
                                             .grad_key = grad_key.data(),
                                             .grad_value = grad_value.data(),
                                             .grad_edge_bias = p.grad_edge_bias};
  attention_backward(backward, relation);
  round_to(grad_query, p.grad_query);
  round_to(grad_key, p.grad_key);
  round_to(grad_value, p.grad_value);
}

template <>
void attention_weights(const AttentionWeights<BFloat16>& p, const RelationView& relation) {
  const FloatAttention in_float(p.forward, relation);
  attention_weights(AttentionWeights<float>{.forward = in_float.forward(), .weight = p.weight}, relation);
}

}  // namespace edgewise::kernels::reference
