// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/edge_softmax.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "edgewise/base/error.h"
#include "edgewise/kernels/attention/edge_products.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/edge_index.h"
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
    check_differentiated_once("edge_softmax");
    const at::Tensor& weight_EH = pass.saved[0];
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
  Relation relation_;
};

/// Inputs: weight_EH, value_SHV.
class Aggregate : public Operation {
 public:
  explicit Aggregate(const Relation& relation) : relation_(relation) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    const at::Tensor weight_EH = inputs[0].contiguous();
    const at::Tensor value_SHV = inputs[1].contiguous();
    at::Tensor out_DHV =
        at::empty({relation_.num_destinations(), value_SHV.size(1), value_SHV.size(2)}, value_SHV.options());
    with_float_or_double(value_SHV, [&](auto zero) {
      using T = decltype(zero);
      kernels::sum_at_destinations(edge_shape(value_SHV), weight_EH.const_data_ptr<T>(), value_SHV.const_data_ptr<T>(),
                                   out_DHV.data_ptr<T>());
    });
    saved = {weight_EH, value_SHV};
    return {out_DHV};
  }

  Tensors backward(const BackwardPass& pass) override {
    check_differentiated_once("aggregate");
    const at::Tensor& weight_EH = pass.saved[0];
    const at::Tensor& value_SHV = pass.saved[1];
    const at::Tensor grad_out_DHV = pass.grad_outputs[0].contiguous();
    const at::Tensor grad_weight_EH = at::empty_like(weight_EH);
    const at::Tensor grad_value_SHV = at::empty_like(value_SHV);
    with_float_or_double(value_SHV, [&](auto zero) {
      using T = decltype(zero);
      const auto shape = edge_shape(value_SHV);
      kernels::edge_dot(shape, grad_out_DHV.const_data_ptr<T>(), value_SHV.const_data_ptr<T>(),
                        grad_weight_EH.data_ptr<T>());
      kernels::sum_at_sources(shape, weight_EH.const_data_ptr<T>(), grad_out_DHV.const_data_ptr<T>(),
                              grad_value_SHV.data_ptr<T>());
    });
    return {grad_weight_EH, grad_value_SHV};
  }

 private:
  kernels::EdgeShape edge_shape(const at::Tensor& value_SHV) const {
    return {relation_.view(), value_SHV.size(1), value_SHV.size(2)};
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
  return apply_one<Aggregate>({weight_EH, value_SHV.to(weight_EH.scalar_type())}, relation).to(value_SHV.scalar_type());
}

}  // namespace edgewise
