// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/edge_softmax.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/GradMode.h>

#include "edgewise/base/error.h"
#include "edgewise/kernels/message/edge_softmax.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/edge_index.h"
#include "edgewise/ops/edge_sum.h"
#include "edgewise/ops/operation.h"

namespace edgewise {
namespace {

/// Returns the number of values per edge of a tensor [E, …].
std::int64_t values_per_edge(const at::Tensor& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t size : tensor.sizes().slice(1)) count *= size;
  return count;
}

class EdgeSoftmax : public Operation {
 public:
  explicit EdgeSoftmax(const Relation& relation) : relation_(relation) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    const at::Tensor score_EH = inputs[0].contiguous();
    at::Tensor weight_EH = at::empty_like(score_EH);
    with_float_or_double(score_EH, [&](auto zero) {
      using T = decltype(zero);
      kernels::edge_softmax(relation_.view(), values_per_edge(score_EH), score_EH.const_data_ptr<T>(),
                            weight_EH.data_ptr<T>());
    });
    saved = {weight_EH};
    return {weight_EH};
  }

  Tensors backward(const BackwardPass& pass) override {
    const at::Tensor& weight_EH = pass.saved[0];
    if (c10::GradMode::is_enabled()) return {differentiable_gradient(weight_EH, pass.grad_outputs[0])};
    const at::Tensor grad_weight_EH = pass.grad_outputs[0].contiguous();
    const at::Tensor grad_score_EH = at::empty_like(weight_EH);
    with_float_or_double(weight_EH, [&](auto zero) {
      using T = decltype(zero);
      kernels::edge_softmax_backward(relation_.view(), values_per_edge(weight_EH), weight_EH.const_data_ptr<T>(),
                                     grad_weight_EH.const_data_ptr<T>(), grad_score_EH.data_ptr<T>());
    });
    return {grad_score_EH};
  }

 private:
  /// Computes the gradient of the scores by operations that have gradients themselves.
  at::Tensor differentiable_gradient(const at::Tensor& weight_EH, const at::Tensor& grad_weight_EH) const {
    EdgeSum sum;
    sum.row_shape = weight_EH.sizes().slice(1).vec();
    sum.message.op = MessageOperator::kMultiply;
    sum.message.left = {weight_EH, RowsOf::kEdges};
    sum.message.right = {grad_weight_EH, RowsOf::kEdges};
    const at::Tensor mean_gradient_DH = edge_sum(relation_, sum);
    sum.message.right = {mean_gradient_DH, RowsOf::kDestinations};
    sum.rows_of = RowsOf::kEdges;
    const at::Tensor common_EH = edge_sum(relation_, sum);
    return weight_EH * grad_weight_EH - common_EH;
  }

  Relation relation_;
};

}  // namespace

at::Tensor edge_softmax(const Relation& relation, const at::Tensor& score_EH) {
  check_float_or_double("edge_softmax", "score", score_EH);
  check(score_EH.dim() >= 1, "edge_softmax: score has no dimensions, needs at least one: edges");
  check_rows("edge_softmax", "score", score_EH, relation.num_edges(), "edge");
  if (backend_of(score_EH, /*has_gpu_kernel=*/false) == Backend::kDefinition)
    return edge_softmax_plain(relation, score_EH);
  return apply_one<EdgeSoftmax>({score_EH}, relation);
}

at::Tensor additive_scores(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                           const at::Tensor& vector_HK) {
  constexpr auto kName = "additive_scores";
  check_floating_point(kName, "query", query_DHK);
  check_floating_point(kName, "key", key_SHK);
  check_parameter(kName, "vector", vector_HK, "query", query_DHK);
  check_same_type(kName, "key", key_SHK, "query", query_DHK);
  check_dimensions(kName, "query", query_DHK, 3, "destinations, heads, head size");
  check_dimensions(kName, "key", key_SHK, 3, "sources, heads, head size");
  check_dimensions(kName, "vector", vector_HK, 2, "heads, head size");
  check_rows(kName, "query", query_DHK, relation.num_destinations(), "destination");
  check_rows(kName, "key", key_SHK, relation.num_sources(), "source");
  check_same_heads(kName, "key", key_SHK, "query", query_DHK);
  check(vector_HK.size(0) == query_DHK.size(1), "{}: vector has {} heads but query has {}, needs as many", kName,
        vector_HK.size(0), query_DHK.size(1));
  check_same_head_size(kName, "key", key_SHK, "query", query_DHK);
  check_same_head_size(kName, "vector", vector_HK, "query", query_DHK);

  const EdgeIndexTensors& edges = edge_index_tensors(relation, query_DHK.device());
  const at::ScalarType type = parameter_type(query_DHK);
  const at::Tensor sum_EHK =
      query_DHK.to(type).index_select(0, edges.destination_E) + key_SHK.to(type).index_select(0, edges.source_E);
  return (sum_EHK.tanh() * vector_HK).sum(-1);
}

at::Tensor aggregate(const Relation& relation, const at::Tensor& weight_EH, const at::Tensor& value_SHV) {
  check_floating_point("aggregate", "value", value_SHV);
  check_parameter("aggregate", "weight", weight_EH, "value", value_SHV);
  check_dimensions("aggregate", "weight", weight_EH, 2, "edges, heads");
  check_dimensions("aggregate", "value", value_SHV, 3, "sources, heads, size of a head's value");
  check_rows("aggregate", "weight", weight_EH, relation.num_edges(), "edge");
  check_rows("aggregate", "value", value_SHV, relation.num_sources(), "source");
  check_same_heads("aggregate", "value", value_SHV, "weight", weight_EH);
  if (backend_of(value_SHV, /*has_gpu_kernel=*/false) == Backend::kDefinition)
    return aggregate_plain(relation, weight_EH, value_SHV);
  const MessageOperand value = {value_SHV.to(weight_EH.scalar_type()), RowsOf::kSources};
  const MessageOperand weight = {weight_EH.unsqueeze(-1), RowsOf::kEdges};
  return edge_sum(
             relation,
             {{MessageOperator::kMultiply, value, weight}, RowsOf::kDestinations, value_SHV.sizes().slice(1).vec()})
      .to(value_SHV.scalar_type());
}

}  // namespace edgewise
