// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <limits>

#include "edgewise/kernels/attention/attention_plan.h"
#include "edgewise/kernels/attention/edge_products.h"
#include "operations.h"
#include "relations.h"

namespace edgewise::torch_operations {
namespace {

void check_query_and_key(const Tensor& query, const Tensor& key, const Relation& relation) {
  constexpr auto kName = "attention_weights";
  check(query.dim() == 3, "{}: query has {} dimensions, needs 3", kName, query.dim());
  check_shape(kName, "query", query, {relation.num_destinations(), query.size(1), query.size(2)});
  check_shape(kName, "key", key, {relation.num_sources(), query.size(1), query.size(2)});
  check_type(kName, "key", key, query.scalar_type());
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
  const Tensor q = torch::stable::contiguous(query);
  const Tensor k = torch::stable::contiguous(key);
  const std::optional<Tensor> bias = contiguous(edge_bias);
  check(k.dim() == 3, "{}: key has {} dimensions, needs 3", kName, k.dim());
  const Relation relation = find_relation(kName, {row_begin, sources, handle}, k.size(0));
  check_query_and_key(q, k, relation);
  check(num_edges == relation.num_edges(), "{}: num_edges is {}, needs {}", kName, num_edges, relation.num_edges());
  if (bias) {
    check_shape(kName, "edge_bias", *bias, {num_edges, q.size(1)});
    check_type(kName, "edge_bias", *bias, q.scalar_type());
  }
  const Tensor weight = empty({num_edges, q.size(1)}, q.scalar_type());
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
  const Tensor q = torch::stable::contiguous(query);
  const Tensor k = torch::stable::contiguous(key);
  const Tensor w = torch::stable::contiguous(weight);
  const Tensor grad = torch::stable::contiguous(grad_weight);
  check(k.dim() == 3, "{}: key has {} dimensions, needs 3", kName, k.dim());
  const Relation relation = find_relation(kName, {row_begin, sources, handle}, k.size(0));
  check_query_and_key(q, k, relation);
  check_shape(kName, "weight", w, {relation.num_edges(), q.size(1)});
  check_shape(kName, "the gradient", grad, {relation.num_edges(), q.size(1)});
  check_type(kName, "weight", w, q.scalar_type());
  check_type(kName, "the gradient", grad, q.scalar_type());
  const Tensor grad_query = torch::stable::empty_like(q);
  const Tensor grad_key = torch::stable::empty_like(k);
  const Tensor grad_bias = torch::stable::empty_like(w);
  const Tensor grad_score = torch::stable::empty_like(w);
  with_float_or_double(kName, q, [&](auto zero) {
    using T = decltype(zero);
    const kernels::EdgeShape shape = {relation.view(), q.size(1), q.size(2)};
    kernels::edge_softmax_backward(shape.relation, shape.num_heads, data_of<T>(w), data_of<T>(grad),
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
  const Tensor s = torch::stable::contiguous(score);
  const Relation relation = find_relation(kName, {row_begin, sources, handle}, num_sources);
  check(s.dim() == 2, "{}: score has {} dimensions, needs 2", kName, s.dim());
  check_shape(kName, "score", s, {relation.num_edges(), s.size(1)});
  const Tensor weight = torch::stable::empty_like(s);
  with_float_or_double(kName, s, [&](auto zero) {
    using T = decltype(zero);
    kernels::edge_softmax(relation.view(), s.size(1), data_of<T>(s), data_of<T>(weight));
  });
  return weight;
}

Tensor edge_softmax_backward(const Tensor& grad_weight, const Tensor& weight, const Tensor& row_begin,
                             const Tensor& sources, const Tensor& handle, std::int64_t num_sources) {
  constexpr auto kName = "edge_softmax";
  const Tensor w = torch::stable::contiguous(weight);
  const Tensor grad = torch::stable::contiguous(grad_weight);
  const Relation relation = find_relation(kName, {row_begin, sources, handle}, num_sources);
  check(w.dim() == 2, "{}: weight has {} dimensions, needs 2", kName, w.dim());
  check_shape(kName, "weight", w, {relation.num_edges(), w.size(1)});
  check_shape(kName, "the gradient", grad, {relation.num_edges(), w.size(1)});
  check_type(kName, "the gradient", grad, w.scalar_type());
  const Tensor grad_score = torch::stable::empty_like(w);
  with_float_or_double(kName, w, [&](auto zero) {
    using T = decltype(zero);
    kernels::edge_softmax_backward(relation.view(), w.size(1), data_of<T>(w), data_of<T>(grad), data_of<T>(grad_score));
  });
  return grad_score;
}

Tensor aggregate(const Tensor& weight, const Tensor& value, const Tensor& row_begin, const Tensor& sources,
                 const Tensor& handle) {
  constexpr auto kName = "aggregate";
  const Tensor w = torch::stable::contiguous(weight);
  const Tensor v = torch::stable::contiguous(value);
  check(v.dim() == 3, "{}: value has {} dimensions, needs 3", kName, v.dim());
  const Relation relation = find_relation(kName, {row_begin, sources, handle}, v.size(0));
  check_shape(kName, "weight", w, {relation.num_edges(), v.size(1)});
  check_type(kName, "weight", w, v.scalar_type());
  const Tensor out = empty({relation.num_destinations(), v.size(1), v.size(2)}, v.scalar_type());
  with_float_or_double(kName, v, [&](auto zero) {
    using T = decltype(zero);
    kernels::sum_at_destinations({relation.view(), v.size(1), v.size(2)}, data_of<T>(w), data_of<T>(v),
                                 data_of<T>(out));
  });
  return out;
}

std::tuple<Tensor, Tensor> aggregate_backward(const Tensor& grad_out, const Tensor& weight, const Tensor& value,
                                              const Tensor& row_begin, const Tensor& sources, const Tensor& handle) {
  constexpr auto kName = "aggregate";
  const Tensor w = torch::stable::contiguous(weight);
  const Tensor v = torch::stable::contiguous(value);
  const Tensor grad = torch::stable::contiguous(grad_out);
  check(v.dim() == 3, "{}: value has {} dimensions, needs 3", kName, v.dim());
  const Relation relation = find_relation(kName, {row_begin, sources, handle}, v.size(0));
  check_shape(kName, "weight", w, {relation.num_edges(), v.size(1)});
  check_shape(kName, "the gradient", grad, {relation.num_destinations(), v.size(1), v.size(2)});
  check_type(kName, "weight", w, v.scalar_type());
  check_type(kName, "the gradient", grad, v.scalar_type());
  const Tensor grad_weight = torch::stable::empty_like(w);
  const Tensor grad_value = torch::stable::empty_like(v);
  with_float_or_double(kName, v, [&](auto zero) {
    using T = decltype(zero);
    const kernels::EdgeShape shape = {relation.view(), v.size(1), v.size(2)};
    kernels::edge_dot(shape, data_of<T>(grad), data_of<T>(v), data_of<T>(grad_weight));
    kernels::sum_at_sources(shape, data_of<T>(w), data_of<T>(grad), data_of<T>(grad_value));
  });
  return {grad_weight, grad_value};
}

}  // namespace edgewise::torch_operations
