// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

#include "edgewise/kernels/attention/attention_plan.h"
#include "edgewise/kernels/message/edge_products.h"
#include "edgewise/kernels/message/edge_softmax.h"
#include "operations.h"
#include "relations.h"

namespace edgewise::torch_operations {
namespace {

// Each of these functions returns the relation, and checks the tensors that forward and backward share against it.

Relation find_relation_of_nodes(const Tensor& query, const Tensor& key, const RelationTensors& tensors) {
  constexpr auto kName = "attention_weights";
  check(key.dim() == 3, "{}: key has {} dimensions, needs 3", kName, key.dim());
  Relation relation = find_relation(kName, tensors, key.size(0));
  check(query.dim() == 3, "{}: query has {} dimensions, needs 3", kName, query.dim());
  check_shape(kName, "query", query, {relation.num_destinations(), query.size(1), query.size(2)});
  check_shape(kName, "key", key, {relation.num_sources(), query.size(1), query.size(2)});
  check_type(kName, "key", key, query.scalar_type());
  return relation;
}

Relation find_relation_of_edges(std::string_view name, const Tensor& edges, const RelationTensors& tensors,
                                std::int64_t num_sources) {
  constexpr auto kName = "edge_softmax";
  Relation relation = find_relation(kName, tensors, num_sources);
  check(edges.dim() == 2, "{}: {} has {} dimensions, needs 2", kName, name, edges.dim());
  check_shape(kName, name, edges, {relation.num_edges(), edges.size(1)});
  return relation;
}

Relation find_relation_of_messages(const Tensor& weight, const Tensor& value, const RelationTensors& tensors) {
  constexpr auto kName = "aggregate";
  check(value.dim() == 3, "{}: value has {} dimensions, needs 3", kName, value.dim());
  Relation relation = find_relation(kName, tensors, value.size(0));
  check_shape(kName, "weight", weight, {relation.num_edges(), value.size(1)});
  check_type(kName, "weight", weight, value.scalar_type());
  return relation;
}

/// Multiplies the gradients of scores by the scale. Those of scores that the clamp bounds become zero.
template <typename T>
void differentiate_scale(const kernels::EdgeShape& shape, const Tensor& query, const Tensor& key, double scale,
                         std::optional<double> clamp, const Tensor& grad_bias, const Tensor& grad_score) {
  const auto* from = data_of<T>(grad_bias);
  auto* to = data_of<T>(grad_score);
  // The memory of the gradients holds the scores first.
  if (clamp) kernels::edge_dot(shape, data_of<T>(query), data_of<T>(key), to);
  for (std::int64_t i = 0; i < grad_score.numel(); ++i) {
    const bool is_clamped = clamp && std::abs(static_cast<T>(scale) * to[i]) > static_cast<T>(*clamp);
    to[i] = is_clamped ? T{0} : static_cast<T>(scale) * from[i];
  }
}

}  // namespace

Tensor attention_weights(const Tensor& query, const Tensor& key, const std::optional<Tensor>& edge_bias,
                         const Tensor& row_begin, const Tensor& sources, const Tensor& handle, std::int64_t num_edges,
                         double scale, std::optional<double> clamp) {
  constexpr auto kName = "attention_weights";
  const Tensor q = as_contiguous(query);
  const Tensor k = as_contiguous(key);
  const std::optional<Tensor> bias = as_contiguous(edge_bias);
  const Relation relation = find_relation_of_nodes(q, k, {row_begin, sources, handle});
  check(num_edges == relation.num_edges(), "{}: num_edges is {}, needs {}", kName, num_edges, relation.num_edges());
  if (bias) {
    check_shape(kName, "edge_bias", *bias, {num_edges, q.size(1)});
    check_type(kName, "edge_bias", *bias, q.scalar_type());
  }
  const Tensor weight = allocate({num_edges, q.size(1)}, q.scalar_type());
  with_float_or_double(kName, q, [&](auto zero) {
    using T = decltype(zero);
    kernels::AttentionWeights<T> p = {.forward = {}, .weight = data_of<T>(weight)};
    p.forward.query = data_of<T>(q);
    p.forward.key = data_of<T>(k);
    p.forward.edge_bias = data_or_null<T>(bias);
    p.forward.num_heads = q.size(1);
    p.forward.head_size = q.size(2);
    p.forward.scale = static_cast<T>(scale);
    p.forward.clamp = static_cast<T>(clamp.value_or(std::numeric_limits<double>::infinity()));
    kernels::attention_weights(p, relation.derive<kernels::AttentionPlan>());
  });
  return weight;
}

std::tuple<Tensor, Tensor, Tensor> attention_weights_backward(const Tensor& grad_weight, const Tensor& weight,
                                                              const Tensor& query, const Tensor& key,
                                                              const Tensor& row_begin, const Tensor& sources,
                                                              const Tensor& handle, double scale,
                                                              std::optional<double> clamp) {
  constexpr auto kName = "attention_weights";
  const Tensor q = as_contiguous(query);
  const Tensor k = as_contiguous(key);
  const Tensor w = as_contiguous(weight);
  const Tensor grad = as_contiguous(grad_weight);
  const Relation relation = find_relation_of_nodes(q, k, {row_begin, sources, handle});
  check_shape(kName, "weight", w, {relation.num_edges(), q.size(1)});
  check_shape(kName, "the gradient", grad, {relation.num_edges(), q.size(1)});
  check_type(kName, "weight", w, q.scalar_type());
  check_type(kName, "the gradient", grad, q.scalar_type());
  const Tensor grad_query = allocate_like(q);
  const Tensor grad_key = allocate_like(k);
  const Tensor grad_bias = allocate_like(w);
  const Tensor grad_score = allocate_like(w);
  with_float_or_double(kName, q, [&](auto zero) {
    using T = decltype(zero);
    const kernels::EdgeShape shape = {relation.derive<kernels::EdgeOrders>(), q.size(1), q.size(2)};
    kernels::edge_softmax_backward(relation.view(), shape.num_heads, data_of<T>(w), data_of<T>(grad),
                                   data_of<T>(grad_bias));
    differentiate_scale<T>(shape, q, k, scale, clamp, grad_bias, grad_score);
    kernels::sum_at_destinations(shape, data_of<T>(grad_score), data_of<T>(k), data_of<T>(grad_query));
    kernels::sum_at_sources(shape, data_of<T>(grad_score), data_of<T>(q), data_of<T>(grad_key));
  });
  return {grad_query, grad_key, grad_bias};
}

Tensor edge_softmax(const Tensor& score, const Tensor& row_begin, const Tensor& sources, const Tensor& handle,
                    std::int64_t num_sources) {
  constexpr auto kName = "edge_softmax";
  const Tensor s = as_contiguous(score);
  const Relation relation = find_relation_of_edges("score", s, {row_begin, sources, handle}, num_sources);
  const Tensor weight = allocate_like(s);
  with_float_or_double(kName, s, [&](auto zero) {
    using T = decltype(zero);
    kernels::edge_softmax(relation.view(), s.size(1), data_of<T>(s), data_of<T>(weight));
  });
  return weight;
}

Tensor edge_softmax_backward(const Tensor& grad_weight, const Tensor& weight, const Tensor& row_begin,
                             const Tensor& sources, const Tensor& handle, std::int64_t num_sources) {
  constexpr auto kName = "edge_softmax";
  const Tensor w = as_contiguous(weight);
  const Tensor grad = as_contiguous(grad_weight);
  const Relation relation = find_relation_of_edges("weight", w, {row_begin, sources, handle}, num_sources);
  check_shape(kName, "the gradient", grad, {relation.num_edges(), w.size(1)});
  check_type(kName, "the gradient", grad, w.scalar_type());
  const Tensor grad_score = allocate_like(w);
  with_float_or_double(kName, w, [&](auto zero) {
    using T = decltype(zero);
    kernels::edge_softmax_backward(relation.view(), w.size(1), data_of<T>(w), data_of<T>(grad), data_of<T>(grad_score));
  });
  return grad_score;
}

Tensor aggregate(const Tensor& weight, const Tensor& value, const Tensor& row_begin, const Tensor& sources,
                 const Tensor& handle) {
  constexpr auto kName = "aggregate";
  const Tensor w = as_contiguous(weight);
  const Tensor v = as_contiguous(value);
  const Relation relation = find_relation_of_messages(w, v, {row_begin, sources, handle});
  const Tensor out = allocate({relation.num_destinations(), v.size(1), v.size(2)}, v.scalar_type());
  with_float_or_double(kName, v, [&](auto zero) {
    using T = decltype(zero);
    kernels::sum_at_destinations({relation.derive<kernels::EdgeOrders>(), v.size(1), v.size(2)}, data_of<T>(w),
                                 data_of<T>(v), data_of<T>(out));
  });
  return out;
}

std::tuple<Tensor, Tensor> aggregate_backward(const Tensor& grad_out, const Tensor& weight, const Tensor& value,
                                              const Tensor& row_begin, const Tensor& sources, const Tensor& handle) {
  constexpr auto kName = "aggregate";
  const Tensor w = as_contiguous(weight);
  const Tensor v = as_contiguous(value);
  const Tensor grad = as_contiguous(grad_out);
  const Relation relation = find_relation_of_messages(w, v, {row_begin, sources, handle});
  check_shape(kName, "the gradient", grad, {relation.num_destinations(), v.size(1), v.size(2)});
  check_type(kName, "the gradient", grad, v.scalar_type());
  const Tensor grad_weight = allocate_like(w);
  const Tensor grad_value = allocate_like(v);
  with_float_or_double(kName, v, [&](auto zero) {
    using T = decltype(zero);
    const kernels::EdgeShape shape = {relation.derive<kernels::EdgeOrders>(), v.size(1), v.size(2)};
    kernels::edge_dot(shape, data_of<T>(grad), data_of<T>(v), data_of<T>(grad_weight));
    kernels::sum_at_sources(shape, data_of<T>(w), data_of<T>(grad), data_of<T>(grad_value));
  });
  return {grad_weight, grad_value};
}

}  // namespace edgewise::torch_operations
