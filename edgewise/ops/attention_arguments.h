// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/kernels/attention/attention_plan.h"
#include "edgewise/ops/attend.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/dropout_kernel.h"
#include "edgewise/ops/operation.h"
#include "edgewise/ops/score_binding.h"

// The arguments of the attention kernels, for attend() and attention_weights().
namespace edgewise {

/// All arguments of an attention except its tensors. Owns copies of the relations, to which plans point until backward.
struct AttentionCall {
  std::vector<Relation> relations;  // one for all heads, or one for each head
  double scale;
  double clamp;
  kernels::Dropout dropout;
  std::optional<BoundScore> score = {};  // without tensors
  bool needs_gradients = false;

  const Relation& relation() const { return relations.front(); }
  bool has_one_per_head() const { return relations.size() > 1; }
};

inline const kernels::AttentionPlan& plan_of(const Relation& relation) {
  return relation.derive<kernels::AttentionPlan>();
}

inline AttentionCall make_attention_call(std::vector<Relation> relations, const at::Tensor& query_DHK,
                                         const AttentionOptions& options) {
  return {std::move(relations), scale_or_default(options, query_DHK),
          options.clamp.value_or(std::numeric_limits<double>::infinity()),
          dropout_rule(options.dropout, options.dropout_key)};
}

/// Compiles the score function, if there is one. Returns the tensors of its columns.
inline Tensors bind_score_of(AttentionCall& attention, const at::Tensor& query_DHK, const AttentionOptions& options) {
  if (!options.score) return {};
  attention.score =
      bind_score(*options.score, attention.relations, query_DHK.size(1), parameter_type(query_DHK), query_DHK.device());
  return std::exchange(attention.score->tensors, {});
}

/// The tensors of an attention, from aligned_contiguous(). attention_weights() leaves those of values undefined.
struct AttentionTensors {
  at::Tensor query_DHK, key_SHK;
  at::Tensor value_SHV = {}, edge_bias_EH = {}, out_DHV = {}, log_normalizer_DH = {}, saved_weights = {};
  at::Tensor edge_key_EHK = {}, edge_value_EHV = {};
};

template <typename T>
using ScoreInputsOf = std::optional<kernels::ScoreInputs<kernels::AccumulatorType<T>>>;

/// Returns the argument of kernels for the score function, or nothing without one.
template <typename T>
ScoreInputsOf<T> score_arguments(const AttentionCall& attention, const Tensors& columns,
                                 const Tensors& gradients = {}) {
  if (!attention.score) return {};
  return score_inputs<kernels::AccumulatorType<T>>(*attention.score, columns, gradients);
}

template <typename T>
kernels::AttentionForward<T> kernel_arguments(const AttentionCall& attention, const AttentionTensors& tensors,
                                              const ScoreInputsOf<T>& score) {
  using Accumulator = kernels::AccumulatorType<T>;
  return {
      .query = data_or_null<T>(tensors.query_DHK),
      .key = data_or_null<T>(tensors.key_SHK),
      .value = data_or_null<T>(tensors.value_SHV),
      .edge_bias = data_or_null<Accumulator>(tensors.edge_bias_EH),
      .out = data_or_null<T>(tensors.out_DHV),
      .log_normalizer = data_or_null<Accumulator>(tensors.log_normalizer_DH),
      .num_heads = tensors.query_DHK.size(1),
      .head_size = tensors.query_DHK.size(2),
      .value_size = tensors.value_SHV.defined() ? tensors.value_SHV.size(2) : 0,
      .scale = static_cast<Accumulator>(attention.scale),
      .clamp = static_cast<Accumulator>(attention.clamp),
      .dropout = attention.dropout,
      .saved_weights = data_or_null<Accumulator>(tensors.saved_weights),
      .score = score ? &*score : nullptr,
      .edge_key = data_or_null<T>(tensors.edge_key_EHK),
      .edge_value = data_or_null<T>(tensors.edge_value_EHV),
      .num_key_heads = tensors.key_SHK.size(1),
  };
}

inline at::TensorOptions accumulator_options(const at::Tensor& x) { return x.options().dtype(parameter_type(x)); }

inline bool needs_gradients(const Tensors& inputs) {
  return c10::GradMode::is_enabled() &&
         std::ranges::any_of(inputs, [](const at::Tensor& x) { return x.defined() && x.requires_grad(); });
}

/// Checks the types of query, key and edge bias.
inline void check_attention_types(std::string_view function, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                                  const AttentionOptions& options) {
  check_floating_point(function, "query", query_DHK);
  check_floating_point(function, "key", key_SHK);
  check_same_type(function, "key", key_SHK, "query", query_DHK);
  if (options.edge_bias.defined()) check_parameter(function, "edge_bias", options.edge_bias, "query", query_DHK);
}

}  // namespace edgewise
