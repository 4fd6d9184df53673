// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <limits>

#include "edgewise/kernels/attention/attention_plan.h"
#include "operations.h"
#include "relations.h"
#include "saved_weights.h"

namespace edgewise::torch_operations {
namespace {

using kernels::AccumulatorType;
using kernels::AttentionForward;
using kernels::AttentionPlan;

/// The arguments that forward and backward share.
struct Arguments {
  Tensor query, key, value;
  std::optional<Tensor> edge_bias;
  const std::optional<Tensor>& seed;
  double scale;
  std::optional<double> clamp;
  double dropout;
};

Arguments with_contiguous_tensors(Arguments a) {
  a.query = as_contiguous(a.query);
  a.key = as_contiguous(a.key);
  a.value = as_contiguous(a.value);
  a.edge_bias = as_contiguous(a.edge_bias);
  return a;
}

void check_arguments(const Arguments& a, const Relation& relation) {
  constexpr auto kName = "attend";
  check(a.query.dim() == 3 && a.value.dim() == 3, "{}: query and value need three dimensions", kName);
  const std::int64_t num_heads = a.query.size(1);
  check_shape(kName, "query", a.query, {relation.num_destinations(), num_heads, a.query.size(2)});
  check_shape(kName, "key", a.key, {relation.num_sources(), num_heads, a.query.size(2)});
  check_shape(kName, "value", a.value, {relation.num_sources(), num_heads, a.value.size(2)});
  check_type(kName, "key", a.key, a.query.scalar_type());
  check_type(kName, "value", a.value, a.query.scalar_type());
  if (a.edge_bias) {
    check_shape(kName, "edge_bias", *a.edge_bias, {relation.num_edges(), num_heads});
    check_type(kName, "edge_bias", *a.edge_bias, accumulator_type(a.query));
  }
  check(a.dropout >= 0.0 && a.dropout < 1.0, "{}: dropout is {}, needs at least 0 and less than 1", kName, a.dropout);
  check(a.dropout == 0.0 || a.seed, "{}: dropout needs a seed", kName);
  if (a.seed) {
    check_type(kName, "seed", *a.seed, ScalarType::Long);
    check(a.seed->numel() == 1 && a.seed->is_cpu(), "{}: seed needs to be one number on the CPU", kName);
  }
}

/// Returns the relation, and checks the arguments against it.
Relation find_relation_of(const Arguments& a, const RelationTensors& tensors) {
  check(a.key.dim() == 3, "attend: key has {} dimensions, needs 3", a.key.dim());
  Relation relation = find_relation("attend", tensors, a.key.size(0));
  check_arguments(a, relation);
  return relation;
}

template <typename T>
AttentionForward<T> kernel_arguments(const Arguments& a, const Tensor& out, const Tensor& log_normalizer) {
  using Accumulator = AccumulatorType<T>;
  return {
      .query = data_of<T>(a.query),
      .key = data_of<T>(a.key),
      .value = data_of<T>(a.value),
      .edge_bias = data_or_null<Accumulator>(a.edge_bias),
      .out = data_of<T>(out),
      .log_normalizer = data_of<Accumulator>(log_normalizer),
      .num_heads = a.query.size(1),
      .head_size = a.query.size(2),
      .value_size = a.value.size(2),
      .scale = static_cast<Accumulator>(a.scale),
      .clamp = static_cast<Accumulator>(a.clamp.value_or(std::numeric_limits<double>::infinity())),
      .dropout = {a.dropout, a.seed ? static_cast<std::uint64_t>(*data_of<std::int64_t>(*a.seed)) : 0, 0},
  };
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> attend(const Tensor& query, const Tensor& key, const Tensor& value,
                                          const std::optional<Tensor>& edge_bias, const Tensor& row_begin,
                                          const Tensor& sources, const Tensor& handle,
                                          const std::optional<Tensor>& seed, double scale, std::optional<double> clamp,
                                          double dropout, std::int64_t num_saved) {
  const Arguments a = with_contiguous_tensors({query, key, value, edge_bias, seed, scale, clamp, dropout});
  const Relation relation = find_relation_of(a, {row_begin, sources, handle});

  const std::int64_t num_heads = query.size(1);
  const Tensor out = allocate({query.size(0), num_heads, value.size(2)}, query.scalar_type());
  const Tensor log_normalizer = allocate({query.size(0), num_heads}, accumulator_type(query));
  const Tensor saved = allocate({num_saved * num_heads}, accumulator_type(query));
  const auto& plan = relation.derive<AttentionPlan>();
  with_floating_point("attend", query, [&](auto zero) {
    using T = decltype(zero);
    AttentionForward<T> p = kernel_arguments<T>(a, out, log_normalizer);
    p.saved_weights = saved_weights_or_null<T>(saved, plan, num_heads);
    // The kernels write a part of the buffer with dropout, and nothing with a clamp. The rest is zero, because results
    // of an operation must not depend on what the memory held before.
    if (p.saved_weights == nullptr || dropout > 0.0 || clamp) {
      std::fill_n(data_of<AccumulatorType<T>>(saved), saved.numel(), AccumulatorType<T>{0});
    }
    kernels::attention_forward(p, plan);
  });
  return {out, log_normalizer, saved};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> attend_backward(const Tensor& grad_out, const Tensor& query,
                                                           const Tensor& key, const Tensor& value,
                                                           const std::optional<Tensor>& edge_bias, const Tensor& out,
                                                           const Tensor& log_normalizer, const Tensor& saved_weights,
                                                           const Tensor& row_begin, const Tensor& sources,
                                                           const Tensor& handle, const std::optional<Tensor>& seed,
                                                           double scale, std::optional<double> clamp, double dropout,
                                                           bool needs_bias_gradient) {
  const Arguments a = with_contiguous_tensors({query, key, value, edge_bias, seed, scale, clamp, dropout});
  const Relation relation = find_relation_of(a, {row_begin, sources, handle});
  const std::int64_t num_heads = query.size(1);
  const Tensor grad = as_contiguous(grad_out);
  const Tensor out_contiguous = as_contiguous(out);
  const Tensor normalizer = as_contiguous(log_normalizer);
  check_shape("attend", "the gradient", grad, {query.size(0), num_heads, value.size(2)});
  check_shape("attend", "out", out_contiguous, {query.size(0), num_heads, value.size(2)});
  check_shape("attend", "log_normalizer", normalizer, {query.size(0), num_heads});
  check_type("attend", "the gradient", grad, query.scalar_type());
  check_type("attend", "out", out_contiguous, query.scalar_type());
  check_type("attend", "log_normalizer", normalizer, accumulator_type(query));
  check_type("attend", "saved_weights", saved_weights, accumulator_type(query));

  const Tensor grad_query = allocate_like(a.query);
  const Tensor grad_key = allocate_like(a.key);
  const Tensor grad_value = allocate_like(a.value);
  const bool has_bias_gradient = needs_bias_gradient && a.edge_bias.has_value();
  const Tensor grad_bias = has_bias_gradient ? allocate_like(*a.edge_bias) : allocate({0}, accumulator_type(query));
  const auto& plan = relation.derive<AttentionPlan>();
  with_floating_point("attend", query, [&](auto zero) {
    using T = decltype(zero);
    kernels::AttentionBackward<T> p = {
        .forward = kernel_arguments<T>(a, out_contiguous, normalizer),
        .grad_out = data_of<T>(grad),
        .grad_query = data_of<T>(grad_query),
        .grad_key = data_of<T>(grad_key),
        .grad_value = data_of<T>(grad_value),
        .grad_edge_bias = has_bias_gradient ? data_of<AccumulatorType<T>>(grad_bias) : nullptr,
    };
    p.forward.saved_weights = saved_weights_or_null<T>(saved_weights, plan, num_heads);
    kernels::attention_backward(p, plan);
  });
  return {grad_query, grad_key, grad_value, grad_bias};
}

}  // namespace edgewise::torch_operations
