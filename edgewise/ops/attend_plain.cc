// SPDX-License-Identifier: Apache-2.0
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <limits>

#include "edgewise/kernels/dropout/dropout_reference.h"
#include "edgewise/ops/attend.h"
#include "edgewise/ops/attention_options.h"
#include "edgewise/ops/dropout_kernel.h"
#include "edgewise/ops/edge_index.h"

namespace edgewise {
namespace {

at::Tensor compute_scores(const EdgeIndexTensors& edges, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                          const AttentionOptions& options) {
  const at::Tensor product_EHK =
      query_DHK.index_select(0, edges.destination_E) * key_SHK.index_select(0, edges.source_E);
  at::Tensor score_EH = product_EHK.sum(-1) * scale_or_default(options, query_DHK);
  if (options.clamp) score_EH = score_EH.clamp(-*options.clamp, *options.clamp);
  return options.edge_bias.defined() ? score_EH + options.edge_bias : score_EH;
}

// An edge of score -inf gets weight 0, also in a row where all scores are -inf: its weights are 0, not NaN.
at::Tensor softmax_over_rows(const EdgeIndexTensors& edges, std::int64_t num_destinations, const at::Tensor& score_EH) {
  const at::Tensor row_EH = edges.destination_E.unsqueeze(1).expand_as(score_EH);
  at::Tensor maximum_DH =
      at::full({num_destinations, score_EH.size(1)}, -std::numeric_limits<double>::infinity(), score_EH.options())
          .scatter_reduce(0, row_EH, score_EH.detach(), "amax");
  maximum_DH = maximum_DH.masked_fill(maximum_DH.isinf(), 0);

  const at::Tensor exp_EH = (score_EH - maximum_DH.index_select(0, edges.destination_E)).exp();
  const at::Tensor total_DH =
      at::zeros(maximum_DH.sizes(), score_EH.options()).index_add(0, edges.destination_E, exp_EH);
  return exp_EH / total_DH.masked_fill(total_DH == 0, 1).index_select(0, edges.destination_E);
}

at::Tensor compute_weights(const EdgeIndexTensors& edges, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                           const AttentionOptions& options) {
  return softmax_over_rows(edges, query_DHK.size(0), compute_scores(edges, query_DHK, key_SHK, options));
}

at::Tensor dropout_factors(const AttentionOptions& options, const at::Tensor& weight_EH) {
  at::Tensor factor_EH = at::empty(weight_EH.sizes(), at::kDouble);
  kernels::reference::edge_dropout_factors(dropout_rule(options.dropout, options.dropout_key), weight_EH.size(0),
                                           weight_EH.size(1), factor_EH.data_ptr<double>());
  return factor_EH.to(weight_EH.scalar_type());
}

}  // namespace

at::Tensor attend_plain(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                        const at::Tensor& value_SHV, const AttentionOptions& options) {
  check_query_and_key("attend_plain", relation, query_DHK, key_SHK, options);
  check_value("attend_plain", relation, query_DHK, value_SHV);

  const EdgeIndexTensors edges = edge_index_tensors(relation);
  at::Tensor weight_EH = compute_weights(edges, query_DHK, key_SHK, options);
  if (options.dropout > 0) weight_EH = weight_EH * dropout_factors(options, weight_EH);
  const at::Tensor message_EHV = weight_EH.unsqueeze(-1) * value_SHV.index_select(0, edges.source_E);
  return at::zeros({query_DHK.size(0), query_DHK.size(1), value_SHV.size(2)}, message_EHV.options())
      .index_add(0, edges.destination_E, message_EHV);
}

at::Tensor attention_weights_plain(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                                   const AttentionOptions& options) {
  check_query_and_key("attention_weights_plain", relation, query_DHK, key_SHK, options);
  return compute_weights(edge_index_tensors(relation), query_DHK, key_SHK, options);
}

}  // namespace edgewise
