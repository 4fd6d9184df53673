// SPDX-License-Identifier: Apache-2.0
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include <vector>

#include "edgewise/ops/attend.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/dropout_kernel.h"
#include "edgewise/ops/edge_index.h"
#include "edgewise/ops/score_node.h"

namespace edgewise {
namespace {

/// Returns keys or values for each of `num_heads` heads.
at::Tensor repeat_heads(const at::Tensor& x_SHK, std::int64_t num_heads) {
  return x_SHK.size(1) == num_heads ? x_SHK : x_SHK.repeat_interleave(num_heads / x_SHK.size(1), 1);
}

at::Tensor compute_scores(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                          const AttentionOptions& options) {
  const EdgeIndexTensors& edges = edge_index_tensors(relation, query_DHK.device());
  at::Tensor key_EHK = repeat_heads(key_SHK, query_DHK.size(1)).index_select(0, edges.source_E);
  if (options.edge_key.defined()) key_EHK = key_EHK + options.edge_key.to(key_EHK.scalar_type());
  const at::Tensor product_EHK = query_DHK.index_select(0, edges.destination_E) * key_EHK;
  at::Tensor score_EH = product_EHK.sum(-1) * scale_or_default(options, query_DHK);
  if (options.score) return score_plain(relation, *options.score, score_EH);
  if (options.clamp) score_EH = score_EH.clamp(-*options.clamp, *options.clamp);
  return options.edge_bias.defined() ? score_EH + options.edge_bias : score_EH;
}

at::Tensor compute_weights(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                           const AttentionOptions& options) {
  const at::ScalarType type = parameter_type(query_DHK);
  return softmax_over_rows(edge_index_tensors(relation, query_DHK.device()), query_DHK.size(0),
                           compute_scores(relation, query_DHK.to(type), key_SHK.to(type), options));
}

/// Attends with the heads of the tensors; `is_kept_EH` is undefined without dropout.
at::Tensor attend_over_edges(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                             const at::Tensor& value, const AttentionOptions& options, const at::Tensor& is_kept_EH) {
  const at::ScalarType type = parameter_type(query_DHK);
  const at::Tensor value_SHV = repeat_heads(value.to(type), query_DHK.size(1));
  at::Tensor weight_EH = compute_weights(relation, query_DHK, key_SHK, options);
  if (is_kept_EH.defined()) {
    weight_EH = keep_elements(weight_EH, is_kept_EH, dropout_rule(options.dropout, options.dropout_key));
  }
  const EdgeIndexTensors& edges = edge_index_tensors(relation, query_DHK.device());
  if (!options.edge_value.defined()) {
    return sum_messages(edges, query_DHK.size(0), weight_EH, value_SHV).to(value.scalar_type());
  }
  const at::Tensor value_EHV = value_SHV.index_select(0, edges.source_E) + options.edge_value.to(type);
  return at::zeros({query_DHK.size(0), value_SHV.size(1), value_SHV.size(2)}, value_EHV.options())
      .index_add(0, edges.destination_E, weight_EH.unsqueeze(-1) * value_EHV)
      .to(value.scalar_type());
}

at::Tensor kept_edges_of(const Relation& relation, std::int64_t num_heads, const AttentionOptions& options,
                         at::Device device) {
  if (options.dropout == 0) return {};
  return kept_edges(dropout_rule(options.dropout, options.dropout_key), relation.num_edges(), num_heads, device);
}

}  // namespace

at::Tensor attend_plain(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                        const at::Tensor& value_SHV, const AttentionOptions& options) {
  check_query_and_key("attend_plain", relation, query_DHK, key_SHK, options);
  check_value("attend_plain", relation, key_SHK, value_SHV, options);
  return attend_over_edges(relation, query_DHK, key_SHK, value_SHV, options,
                           kept_edges_of(relation, query_DHK.size(1), options, query_DHK.device()));
}

at::Tensor attend_heads_plain(std::span<const Relation> relation_H, const at::Tensor& query_DHK,
                              const at::Tensor& key_SHK, const at::Tensor& value_SHV, const AttentionOptions& options) {
  const std::int64_t num_heads = query_DHK.size(1);
  std::vector<at::Tensor> out_H;
  for (std::int64_t head = 0; head < num_heads; ++head) {
    const Relation& relation = relation_H[static_cast<std::size_t>(head)];
    const auto of_head = [head](const at::Tensor& x) { return x.defined() ? x.narrow(1, head, 1) : x; };
    const at::Tensor is_kept_EH = kept_edges_of(relation, num_heads, options, query_DHK.device());
    AttentionOptions head_options = options;
    if (options.score) head_options.score = score_of_head(*options.score, head);
    out_H.push_back(attend_over_edges(relation, of_head(query_DHK), of_head(key_SHK), of_head(value_SHV), head_options,
                                      of_head(is_kept_EH)));
  }
  return at::cat(out_H, 1);
}

at::Tensor attention_weights_plain(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                                   const AttentionOptions& options) {
  check_query_and_key("attention_weights_plain", relation, query_DHK, key_SHK, options);
  return compute_weights(relation, query_DHK, key_SHK, options);
}

}  // namespace edgewise
