// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/ops/attend.h"
#include "edgewise/ops/edge_softmax.h"
#include "edgewise/ops/rotate.h"

namespace edgewise {
namespace {

thread_local const AttentionRecorder::Callback* active_callback = nullptr;

at::Tensor split_heads(const at::Tensor& x, std::int64_t heads, std::int64_t head_size) {
  return x.view({x.size(0), heads, head_size});
}

/// Scores by a score_vector of [H, K], and clamps by `bound`.
at::Tensor additive_weights(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                            const at::Tensor& score_vector, const std::optional<double>& bound) {
  at::Tensor score_EH = additive_scores(relation, query_DHK, key_SHK, score_vector);
  if (bound) score_EH = at::clamp(score_EH, -*bound, *bound);
  return edge_softmax(relation, score_EH);
}

/// Returns the options of the score: clamp(product) + bias.
AttentionOptions score_options(const std::optional<double>& bound, const std::optional<Score>& bias) {
  AttentionOptions options;
  if (!bias) {
    options.clamp = bound;
  } else {
    options.score = (bound ? clamp(Score::product(), -*bound, *bound) : Score::product()) + *bias;
  }
  return options;
}

/// With `log_scale`, multiplies queries by ln(edges into their node), which is 0 for one edge, whose weight is 1.
at::Tensor scale_query(const MultiHeadAttentionOptions& options, const Relation& relation,
                       const at::Tensor& query_DHK) {
  if (!options.log_scale) return query_DHK;
  std::vector<double> factors;
  for (std::int64_t node = 0; node < relation.num_destinations(); ++node) {
    factors.push_back(std::log(static_cast<double>(std::max<EdgeIndex>(relation.row_size(node), 1))));
  }
  return query_DHK * at::tensor(factors).to(query_DHK.options().requires_grad(false)).view({-1, 1, 1});
}

}  // namespace

const SelfPositions AttentionEdges::kNoPositions;

AttentionRecorder::AttentionRecorder(Callback callback) : callback_(std::move(callback)) {
  check(active_callback == nullptr, "AttentionRecorder: this thread has one already, needs at most one");
  active_callback = &callback_;
}

AttentionRecorder::~AttentionRecorder() { active_callback = nullptr; }

const AttentionRecorder::Callback* AttentionRecorder::current() { return active_callback; }

Columns Projections::columns() const {
  Columns columns;
  const auto for_each_head = [this](const at::Tensor& x) {
    return group_size == 1 ? x : x.repeat_interleave(group_size, 1);
  };
  if (query.defined()) columns["q"] = query;
  if (key.defined()) columns["k"] = for_each_head(key);
  if (value.defined()) columns["v"] = for_each_head(value);
  return columns;
}

Projections rotate(Projections projections, const PositionRows& rotation) {
  if (!rotation.table_PM.defined()) return projections;
  for (at::Tensor* projection : {&projections.query, &projections.key}) {
    if (projection->defined()) *projection = rotate(*projection, rotation.table_PM, rotation.rows);
  }
  return projections;
}

MultiHeadAttentionOptions MultiHeadAttentionOptions::even(std::int64_t size, std::int64_t heads) {
  check(heads > 0 && size % heads == 0, "MultiHeadAttention: heads is {}, needs a divisor of size {}", heads, size);
  const std::int64_t head_size = size / heads;
  return {.input_size = size, .heads = heads, .head_size = head_size, .value_size = head_size, .output_size = size};
}

MultiHeadAttentionOptions MultiHeadAttentionOptions::from_layer(const LayerOptions& layer) {
  MultiHeadAttentionOptions options = even(layer.size, layer.heads);
  options.key_heads = layer.key_value_heads;
  options.bias = layer.attention_bias ? Bias::kZero : Bias::kNone;
  options.score = layer.score;
  options.clamp = layer.clamp;
  options.log_scale = layer.log_scale;
  options.dropout = layer.dropout.attention;
  return options;
}

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& attention_options, RandomStream& random)
    : options(attention_options) {
  const MultiHeadAttentionOptions& o = options;
  query = Linear(o.input_size, o.heads * o.head_size, o.bias, random);
  key = Linear(o.input_size, o.num_key_heads() * o.head_size, o.bias, random);
  value = Linear(o.input_size, o.num_key_heads() * o.value_size, o.bias, random);
  output = Linear(o.heads * o.value_size, o.output_size, o.bias, random);
  if (o.score == ScoreKind::kAdditive) score_vector = xavier_uniform({o.heads, o.head_size}, o.head_size, 1, random);
}

/// Multiplies by three matrices instead of one matrix of three times the width: attention needs contiguous queries,
/// keys and values, which would have to be copied out of the wide result.
Projections MultiHeadAttention::get(const at::Tensor& x_NI, AttentionFields fields) const {
  std::vector<LinearWeights> layers;
  if (contains(fields, AttentionFields::kQuery)) layers.push_back(query.weights());
  if (contains(fields, AttentionFields::kKey)) layers.push_back(key.weights());
  if (contains(fields, AttentionFields::kValue)) layers.push_back(value.weights());
  const std::vector<at::Tensor> results = linear_group(query.operand(x_NI), layers);

  Projections projections;
  projections.group_size = options.heads / options.num_key_heads();
  auto next = results.begin();
  const auto take = [&](AttentionFields field, std::int64_t heads, std::int64_t size, at::Tensor& projection) {
    if (contains(fields, field)) projection = split_heads(*next++, heads, size);
  };
  take(AttentionFields::kQuery, options.heads, options.head_size, projections.query);
  take(AttentionFields::kKey, options.num_key_heads(), options.head_size, projections.key);
  take(AttentionFields::kValue, options.num_key_heads(), options.value_size, projections.value);
  return projections;
}

at::Tensor MultiHeadAttention::average(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SGK,
                                       const at::Tensor& value_SGV, Pass& pass,
                                       const std::optional<Score>& bias) const {
  if (const AttentionRecorder::Callback* record = AttentionRecorder::current()) {
    (*record)(relation, [&](std::int64_t head) {
      check(head < 0 || !bias, "AttentionRecorder: head is {} of attention with a bias, needs -1, all heads", head);
      return head < 0 ? weights(relation, query_DHK, key_SGK, bias) : head_weights(relation, query_DHK, key_SGK, head);
    });
  }
  if (options.score == ScoreKind::kAdditive) {
    const at::Tensor weight_EH = additive_weights(relation, query_DHK, key_SGK, score_vector, options.clamp);
    return aggregate(relation, pass.dropout(weight_EH, options.dropout), value_SGV);
  }
  AttentionOptions attention = score_options(options.clamp, bias);
  pass.set_dropout(options.dropout, attention);
  return attend(relation, scale_query(options, relation, query_DHK), key_SGK, value_SGV, attention);
}

at::Tensor MultiHeadAttention::average_self(const AttentionEdges& edges, const at::Tensor& x_NI, Pass& pass) const {
  const Projections self = rotate(get(x_NI), edges.positions.rotation);
  return average(edges.relation, self.query, self.key, self.value, pass, edges.positions.bias);
}

at::Tensor MultiHeadAttention::get_o(const at::Tensor& average_DHV) const { return output(average_DHV.flatten(1)); }

at::Tensor MultiHeadAttention::operator()(const Relation& relation, const at::Tensor& destination_DI,
                                          const at::Tensor& source_SI, Pass& pass) const {
  const Projections destination = get(destination_DI, AttentionFields::kQuery);
  const Projections source = get(source_SI, AttentionFields::kKeyValue);
  return get_o(average(relation, destination.query, source.key, source.value, pass));
}

at::Tensor MultiHeadAttention::weights(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SGK,
                                       const std::optional<Score>& bias) const {
  return options.score == ScoreKind::kAdditive
             ? additive_weights(relation, query_DHK, key_SGK, score_vector, options.clamp)
             : attention_weights(relation, scale_query(options, relation, query_DHK), key_SGK,
                                 score_options(options.clamp, bias));
}

at::Tensor MultiHeadAttention::head_weights(const Relation& relation, const at::Tensor& query_DHK,
                                            const at::Tensor& key_SGK, std::int64_t head) const {
  check(head >= 0 && head < options.heads, "MultiHeadAttention: head is {}, needs a number from 0 to {}", head,
        options.heads - 1);
  const std::int64_t group_size = options.heads / options.num_key_heads();
  const at::Tensor query_D1K = query_DHK.narrow(1, head, 1);
  const at::Tensor key_S1K = key_SGK.narrow(1, head / group_size, 1);
  return options.score == ScoreKind::kAdditive
             ? additive_weights(relation, query_D1K, key_S1K, score_vector.narrow(0, head, 1), options.clamp)
             : attention_weights(relation, scale_query(options, relation, query_D1K), key_S1K,
                                 score_options(options.clamp, {}));
}

at::Tensor self_attention(const Relation& relation, const at::Tensor& x_NI) {
  const at::Tensor x_N1I = x_NI.unsqueeze(1);
  return attend(relation, x_N1I, x_N1I, x_N1I, {.scale = 1.0}).squeeze(1);
}

}  // namespace edgewise
