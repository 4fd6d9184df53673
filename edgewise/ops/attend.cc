// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/attend.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/profile.h"
#include "edgewise/kernels/attention/attention_plan.h"
#include "edgewise/kernels/message/edge_products.h"
#include "edgewise/kernels/message/edge_softmax.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/dropout_kernel.h"
#include "edgewise/ops/edge_softmax.h"
#include "edgewise/ops/gpu_attention.h"
#include "edgewise/ops/operation.h"
#include "edgewise/ops/score_binding.h"
#include "edgewise/ops/score_node.h"

namespace edgewise {
namespace {

/// All arguments of an attention except its tensors. Owns copies of the relations, to which plans point until backward.
struct Attention {
  std::vector<Relation> relations;  // one for all heads, or one for each head
  double scale;
  double clamp;
  kernels::Dropout dropout;
  std::optional<BoundScore> score = {};  // without tensors
  bool needs_gradients = false;

  const Relation& relation() const { return relations.front(); }
  bool has_one_per_head() const { return relations.size() > 1; }
};

const kernels::AttentionPlan& plan_of(const Relation& relation) { return relation.derive<kernels::AttentionPlan>(); }

Attention make_attention(std::vector<Relation> relations, const at::Tensor& query_DHK,
                         const AttentionOptions& options) {
  return {std::move(relations), scale_or_default(options, query_DHK),
          options.clamp.value_or(std::numeric_limits<double>::infinity()),
          dropout_rule(options.dropout, options.dropout_key)};
}

// Compiles the score function, if there is one. Returns the tensors of its columns.
Tensors bind_score_of(Attention& attention, const at::Tensor& query_DHK, const AttentionOptions& options) {
  if (!options.score) return {};
  attention.score =
      bind_score(*options.score, attention.relations, query_DHK.size(1), parameter_type(query_DHK), query_DHK.device());
  return std::exchange(attention.score->tensors, {});
}

// The tensors of an attention, from aligned_contiguous(). attention_weights() leaves `value` and the last three
// undefined.
struct AttentionTensors {
  at::Tensor query_DHK, key_SHK;
  at::Tensor value_SHV = {}, edge_bias_EH = {}, out_DHV = {}, log_normalizer_DH = {}, saved_weights = {};
  at::Tensor edge_key_EHK = {}, edge_value_EHV = {};
};

template <typename T>
using ScoreInputsOf = std::optional<kernels::ScoreInputs<kernels::AccumulatorType<T>>>;

// Returns the argument of kernels for the score function, or nothing without one.
template <typename T>
ScoreInputsOf<T> score_arguments(const Attention& attention, const Tensors& columns, const Tensors& gradients = {}) {
  if (!attention.score) return {};
  return score_inputs<kernels::AccumulatorType<T>>(*attention.score, columns, gradients);
}

template <typename T>
kernels::AttentionForward<T> kernel_arguments(const Attention& attention, const AttentionTensors& tensors,
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
  };
}

/// Calls fn(arguments, relation) once if all heads share one relation, else for each head with its relation.
template <typename T, class Fn>
void for_relations(const Attention& attention, kernels::AttentionForward<T> p, Fn fn) {
  if (!attention.has_one_per_head()) return fn(p, attention.relation());
  for (std::size_t head = 0; head < attention.relations.size(); ++head) {
    const Relation& relation = attention.relations[head];
    p.only_head = static_cast<std::int64_t>(head);
    fn(p, relation);
    if (p.saved_weights != nullptr) p.saved_weights += plan_of(relation).num_saved_weights<T>();
  }
}

template <typename T>
void run_forward(const kernels::AttentionForward<T>& p, const Relation& relation, const at::Tensor& query_DHK) {
  call_kernel<T>(
      query_DHK, [&] { kernels::attention_forward(p, plan_of(relation)); },
      [&](auto stream) { gpu_attention_forward(p, relation, query_DHK.device(), stream); });
}

template <typename T>
void run_backward(const kernels::AttentionBackward<T>& p, const Relation& relation, const at::Tensor& query_DHK) {
  call_kernel<T>(
      query_DHK, [&] { kernels::attention_backward(p, plan_of(relation)); },
      [&](auto stream) { gpu_attention_backward(p, relation, query_DHK.device(), stream); });
}

at::TensorOptions accumulator_options(const at::Tensor& x) { return x.options().dtype(parameter_type(x)); }

bool needs_gradients(const Tensors& inputs) {
  return c10::GradMode::is_enabled() &&
         std::ranges::any_of(inputs, [](const at::Tensor& x) { return x.defined() && x.requires_grad(); });
}

/// Returns the buffer of AttentionForward::saved_weights; undefined if forward has nothing to save, as on GPUs.
at::Tensor allocate_saved_weights(const Attention& attention, const at::Tensor& query_DHK) {
  if (!attention.needs_gradients || backend_of(query_DHK) == Backend::kGpu) return {};
  if (attention.score && attention.score->program.backward_reads_product) return {};
  const std::int64_t heads_per_relation = attention.has_one_per_head() ? 1 : query_DHK.size(1);
  std::int64_t count = 0;
  with_floating_point(query_DHK, [&](auto zero) {
    for (const Relation& relation : attention.relations) {
      count += heads_per_relation * plan_of(relation).num_saved_weights<decltype(zero)>();
    }
  });
  return count == 0 ? at::Tensor() : at::empty({count}, accumulator_options(query_DHK));
}

constexpr std::size_t kFirstScoreInput = 6;  // of Attend
constexpr std::size_t kFirstScoreSaved = 9;

// Inputs: query_DHK, key_SHK, value_SHV, edge_bias_EH, edge_key_EHK, edge_value_EHV, columns of the score function.
class Attend : public Operation {
 public:
  explicit Attend(Attention attention) : attention_(std::move(attention)) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    const ScopedTimer timer("attention");
    const at::Tensor& query_DHK = inputs[0];
    const std::int64_t num_destinations = query_DHK.size(0);
    const std::int64_t num_heads = query_DHK.size(1);
    const AttentionTensors tensors = {
        .query_DHK = aligned_contiguous(query_DHK),
        .key_SHK = aligned_contiguous(inputs[1]),
        .value_SHV = aligned_contiguous(inputs[2]),
        .edge_bias_EH = aligned_contiguous(inputs[3]),
        .out_DHV = at::empty({num_destinations, num_heads, inputs[2].size(2)}, query_DHK.options()),
        .log_normalizer_DH = at::empty({num_destinations, num_heads}, accumulator_options(query_DHK)),
        .saved_weights = allocate_saved_weights(attention_, query_DHK),
        .edge_key_EHK = aligned_contiguous(inputs[4]),
        .edge_value_EHV = aligned_contiguous(inputs[5]),
    };
    Tensors columns;
    if (attention_.score) {
      columns = score_columns_for_kernels(*attention_.score, {inputs.begin() + kFirstScoreInput, inputs.end()});
    }
    with_floating_point(query_DHK, [&](auto zero) {
      using T = decltype(zero);
      const auto score = score_arguments<T>(attention_, columns);
      for_relations(attention_, kernel_arguments<T>(attention_, tensors, score),
                    [&](const auto& p, const Relation& relation) { run_forward(p, relation, query_DHK); });
    });

    saved = {tensors.query_DHK,     tensors.key_SHK,      tensors.value_SHV,
             tensors.edge_bias_EH,  tensors.out_DHV,      tensors.log_normalizer_DH,
             tensors.saved_weights, tensors.edge_key_EHK, tensors.edge_value_EHV};
    saved.insert(saved.end(), columns.begin(), columns.end());
    return {tensors.out_DHV};
  }

  Tensors backward(const BackwardPass& pass) override {
    const ScopedTimer timer("attention");
    check_differentiated_once("attend");
    const Tensors& saved = pass.saved;
    const AttentionTensors tensors = {saved[0], saved[1], saved[2], saved[3], saved[4],
                                      saved[5], saved[6], saved[7], saved[8]};
    const at::Tensor grad_out_DHV = aligned_contiguous(pass.grad_outputs[0]);
    const at::Tensor grad_query_DHK = at::empty_like(tensors.query_DHK);
    const at::Tensor grad_key_SHK = at::empty_like(tensors.key_SHK);
    const at::Tensor grad_value_SHV = at::empty_like(tensors.value_SHV);
    const auto empty_if = [&](std::size_t input, const at::Tensor& like) {
      return pass.needs_gradient[input] ? at::empty_like(like) : at::Tensor();
    };
    const at::Tensor grad_edge_bias_EH = empty_if(3, tensors.edge_bias_EH);
    const at::Tensor grad_edge_key_EHK = empty_if(4, tensors.edge_key_EHK);
    const at::Tensor grad_edge_value_EHV = empty_if(5, tensors.edge_value_EHV);
    const Tensors columns(saved.begin() + kFirstScoreSaved, saved.end());
    const Tensors grad_columns = allocate_column_gradients(columns, pass);
    with_floating_point(tensors.query_DHK, [&](auto zero) {
      using T = decltype(zero);
      const auto score = score_arguments<T>(attention_, columns, grad_columns);
      kernels::AttentionBackward<T> p = {
          .forward = kernel_arguments<T>(attention_, tensors, score),
          .grad_out = data_or_null<T>(grad_out_DHV),
          .grad_query = data_or_null<T>(grad_query_DHK),
          .grad_key = data_or_null<T>(grad_key_SHK),
          .grad_value = data_or_null<T>(grad_value_SHV),
          .grad_edge_bias = data_or_null<kernels::AccumulatorType<T>>(grad_edge_bias_EH),
          .grad_edge_key = data_or_null<T>(grad_edge_key_EHK),
          .grad_edge_value = data_or_null<T>(grad_edge_value_EHV),
      };
      for_relations(attention_, p.forward, [&](const auto& forward, const Relation& relation) {
        p.forward = forward;
        run_backward(p, relation, tensors.query_DHK);
      });
    });
    Tensors result = {grad_query_DHK,    grad_key_SHK,      grad_value_SHV,
                      grad_edge_bias_EH, grad_edge_key_EHK, grad_edge_value_EHV};
    for (std::size_t i = 0; i < grad_columns.size(); ++i) {
      result.push_back(gradient_of_column(attention_.score->columns[i], grad_columns[i]));
    }
    return result;
  }

 private:
  Tensors allocate_column_gradients(const Tensors& columns, const BackwardPass& pass) const {
    if (!attention_.score) return {};
    return allocate_score_gradients(*attention_.score, columns,
                                    {pass.needs_gradient.begin() + kFirstScoreInput, pass.needs_gradient.end()});
  }

  Attention attention_;
};

/// Sets the gradients of the scores that the clamp bounds to zero.
template <typename T>
void clear_clamped_gradients(const Attention& attention, const AttentionTensors& tensors, at::Tensor& grad_score_EH) {
  const at::Tensor score_EH = at::empty_like(grad_score_EH);
  kernels::edge_dot(
      {attention.relation().derive<kernels::EdgeOrders>(), tensors.query_DHK.size(1), tensors.query_DHK.size(2)},
      tensors.query_DHK.const_data_ptr<T>(), tensors.key_SHK.const_data_ptr<T>(), score_EH.data_ptr<T>());
  grad_score_EH.masked_fill_((score_EH * attention.scale).abs_() > attention.clamp, 0);
}

// Inputs: query_DHK, key_SHK, edge_bias_EH, edge_key_EHK, columns of the score function. There is no backward with a
// score function or keys of edges.
class ComputeWeights : public Operation {
 public:
  explicit ComputeWeights(Attention attention) : attention_(std::move(attention)) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    const at::Tensor& query_DHK = inputs[0];
    const AttentionTensors tensors = {.query_DHK = aligned_contiguous(query_DHK),
                                      .key_SHK = aligned_contiguous(inputs[1]),
                                      .edge_bias_EH = aligned_contiguous(inputs[2]),
                                      .edge_key_EHK = aligned_contiguous(inputs[3])};
    at::Tensor weight_EH =
        at::empty({attention_.relation().num_edges(), query_DHK.size(1)}, accumulator_options(query_DHK));
    Tensors columns;
    if (attention_.score) columns = score_columns_for_kernels(*attention_.score, {inputs.begin() + 4, inputs.end()});
    with_floating_point(query_DHK, [&](auto zero) {
      using T = decltype(zero);
      const auto score = score_arguments<T>(attention_, columns);
      const kernels::AttentionWeights<T> p = {kernel_arguments<T>(attention_, tensors, score),
                                              data_or_null<kernels::AccumulatorType<T>>(weight_EH)};
      kernels::attention_weights(p, plan_of(attention_.relation()));
    });

    saved = {tensors.query_DHK, tensors.key_SHK, tensors.edge_bias_EH, weight_EH};
    return {weight_EH};
  }

  Tensors backward(const BackwardPass& pass) override {
    check_differentiated_once("attention_weights");
    const Tensors& saved = pass.saved;
    const at::ScalarType accumulator_type = saved[3].scalar_type();
    const AttentionTensors tensors = {saved[0].to(accumulator_type), saved[1].to(accumulator_type)};
    const at::Tensor grad_weight_EH = pass.grad_outputs[0].contiguous();
    const at::Tensor grad_bias_EH = at::empty_like(grad_weight_EH);
    const at::Tensor grad_query_DHK = at::empty_like(tensors.query_DHK);
    const at::Tensor grad_key_SHK = at::empty_like(tensors.key_SHK);
    with_float_or_double(tensors.query_DHK, [&](auto zero) {
      using T = decltype(zero);
      const kernels::EdgeShape shape = {attention_.relation().derive<kernels::EdgeOrders>(), tensors.query_DHK.size(1),
                                        tensors.query_DHK.size(2)};
      kernels::edge_softmax_backward(attention_.relation().view(), shape.num_heads, saved[3].const_data_ptr<T>(),
                                     grad_weight_EH.const_data_ptr<T>(), grad_bias_EH.data_ptr<T>());
      at::Tensor grad_score_EH = grad_bias_EH * attention_.scale;
      if (std::isfinite(attention_.clamp)) clear_clamped_gradients<T>(attention_, tensors, grad_score_EH);
      kernels::sum_at_destinations(shape, grad_score_EH.const_data_ptr<T>(), tensors.key_SHK.const_data_ptr<T>(),
                                   grad_query_DHK.data_ptr<T>());
      kernels::sum_at_sources(shape, grad_score_EH.const_data_ptr<T>(), tensors.query_DHK.const_data_ptr<T>(),
                              grad_key_SHK.data_ptr<T>());
    });
    return {grad_query_DHK.to(saved[0].scalar_type()), grad_key_SHK.to(saved[1].scalar_type()),
            pass.needs_gradient[2] ? grad_bias_EH : at::Tensor()};
  }

 private:
  Attention attention_;
};

// The dot products of queries and keys along edges, [E, H], in the type of sums.
class EdgeProducts : public Operation {
 public:
  explicit EdgeProducts(Relation relation) : relation_(std::move(relation)) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    const at::Tensor query_DHK = inputs[0].contiguous();
    const at::Tensor key_SHK = inputs[1].contiguous();
    const at::Tensor product_EH = at::empty({relation_.num_edges(), query_DHK.size(1)}, query_DHK.options());
    with_float_or_double(query_DHK, [&](auto zero) {
      using T = decltype(zero);
      kernels::edge_dot(shape_of(query_DHK), query_DHK.const_data_ptr<T>(), key_SHK.const_data_ptr<T>(),
                        product_EH.data_ptr<T>());
    });
    saved = {query_DHK, key_SHK};
    return {product_EH};
  }

  Tensors backward(const BackwardPass& pass) override {
    check_differentiated_once("attention_weights");
    const at::Tensor& query_DHK = pass.saved[0];
    const at::Tensor& key_SHK = pass.saved[1];
    const at::Tensor grad_product_EH = pass.grad_outputs[0].contiguous();
    const at::Tensor grad_query_DHK = at::empty_like(query_DHK);
    const at::Tensor grad_key_SHK = at::empty_like(key_SHK);
    with_float_or_double(query_DHK, [&](auto zero) {
      using T = decltype(zero);
      kernels::sum_at_destinations(shape_of(query_DHK), grad_product_EH.const_data_ptr<T>(),
                                   key_SHK.const_data_ptr<T>(), grad_query_DHK.data_ptr<T>());
      kernels::sum_at_sources(shape_of(query_DHK), grad_product_EH.const_data_ptr<T>(), query_DHK.const_data_ptr<T>(),
                              grad_key_SHK.data_ptr<T>());
    });
    return {grad_query_DHK, grad_key_SHK};
  }

 private:
  kernels::EdgeShape shape_of(const at::Tensor& query_DHK) const {
    return {relation_.view(), query_DHK.size(1), query_DHK.size(2)};
  }

  Relation relation_;
};

// Computes the weights of a score function with gradients. The scores may take O(E * H) memory, as the weights do.
at::Tensor differentiable_weights(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                                  const AttentionOptions& options) {
  const at::ScalarType type = parameter_type(query_DHK);
  const at::Tensor product_EH = apply_one<EdgeProducts>({query_DHK.to(type), key_SHK.to(type)}, relation);
  const at::Tensor scaled_EH = product_EH * scale_or_default(options, query_DHK);
  return edge_softmax(relation, score_plain(relation, *options.score, scaled_EH).contiguous());
}

// Returns queries or keys for a score function that does not read products.
at::Tensor without_products(std::int64_t num_nodes, const at::Tensor& value_SHV) {
  return at::zeros({num_nodes, value_SHV.size(1), 1}, value_SHV.options());
}

bool has_no_products(const at::Tensor& query_DHK, const at::Tensor& key_SHK, const at::Tensor& value_SHV,
                     const AttentionOptions& options) {
  return options.score && !query_DHK.defined() && !key_SHK.defined() && value_SHV.defined() && value_SHV.dim() == 3 &&
         !reads_product(*options.score);
}

void check_relations(std::span<const Relation> relation_H, const at::Tensor& query_DHK,
                     const AttentionOptions& options) {
  check_dimensions("attend", "query", query_DHK, 3, "destinations, heads, head size");
  check(std::ssize(relation_H) == query_DHK.size(1),
        "attend: relation_H has {} relations but query has {} heads, needs one relation per head", relation_H.size(),
        query_DHK.size(1));
  for (std::size_t head = 1; head < relation_H.size(); ++head) {
    const Relation& relation = relation_H[head];
    check(relation.num_sources() == relation_H[0].num_sources() &&
              relation.num_destinations() == relation_H[0].num_destinations(),
          "attend: relation_H[{}] has {} sources and {} destinations, needs {} and {}, as relation_H[0] has", head,
          relation.num_sources(), relation.num_destinations(), relation_H[0].num_sources(),
          relation_H[0].num_destinations());
  }
  const auto check_undefined = [](std::string_view name, const at::Tensor& tensor) {
    check(!tensor.defined(), "attend: {} is defined, needs to be undefined where each head has edges of its own", name);
  };
  check_undefined("edge_bias", options.edge_bias);
  check_undefined("edge_key", options.edge_key);
  check_undefined("edge_value", options.edge_value);
  if (!options.score) return;
  for_each_score_node(options.score->node(), [](const ScoreNode& node) {
    check(node.term != ScoreTerm::kOfEdges,
          "attend: score has a column of edges, needs none where each head has edges of its own");
  });
}

void check_types(std::string_view function, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                 const AttentionOptions& options) {
  check_floating_point(function, "query", query_DHK);
  check_floating_point(function, "key", key_SHK);
  check_same_type(function, "key", key_SHK, "query", query_DHK);
  if (options.edge_bias.defined()) check_parameter(function, "edge_bias", options.edge_bias, "query", query_DHK);
}

void check_attend(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                  const at::Tensor& value_SHV, const AttentionOptions& options) {
  check_types("attend", query_DHK, key_SHK, options);
  check_floating_point("attend", "value", value_SHV);
  check_same_type("attend", "value", value_SHV, "query", query_DHK);
  check_query_and_key("attend", relation, query_DHK, key_SHK, options);
  check_value("attend", relation, query_DHK, value_SHV, options);
}

HeadSizes sizes_of(const at::Tensor& query_DHK, const at::Tensor& value_SHV) {
  return {query_DHK.size(2), value_SHV.size(2)};
}

bool attends_by_definition(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& value_SHV) {
  const bool has_gpu_kernel = can_attend_on_gpu(relation, query_DHK.size(1), sizes_of(query_DHK, value_SHV));
  return backend_of(query_DHK, has_gpu_kernel) == Backend::kDefinition;
}

// GPUs have no kernels with score functions, nor with vectors of edges.
bool attends_by_definition(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& value_SHV,
                           const AttentionOptions& options) {
  const bool needs_cpu = options.score || options.edge_key.defined() || options.edge_value.defined();
  return needs_cpu ? backend_of(query_DHK, /*has_gpu_kernel=*/false) == Backend::kDefinition
                   : attends_by_definition(relation, query_DHK, value_SHV);
}

at::Tensor apply_attend(Attention attention, Tensors inputs, const AttentionOptions& options) {
  for (at::Tensor& column : bind_score_of(attention, inputs[0], options)) inputs.push_back(std::move(column));
  attention.needs_gradients = needs_gradients(inputs);
  return apply_one<Attend>(inputs, std::move(attention));
}

}  // namespace

at::Tensor attend(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                  const at::Tensor& value_SHV, const AttentionOptions& options) {
  if (has_no_products(query_DHK, key_SHK, value_SHV, options)) {
    return attend(relation, without_products(relation.num_destinations(), value_SHV),
                  without_products(relation.num_sources(), value_SHV), value_SHV, options);
  }
  check_attend(relation, query_DHK, key_SHK, value_SHV, options);
  if (attends_by_definition(relation, query_DHK, value_SHV, options)) {
    return attend_plain(relation, query_DHK, key_SHK, value_SHV, options);
  }
  return apply_attend(make_attention({relation}, query_DHK, options),
                      {query_DHK, key_SHK, value_SHV, options.edge_bias, options.edge_key, options.edge_value},
                      options);
}

at::Tensor attend(std::span<const Relation> relation_H, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                  const at::Tensor& value_SHV, const AttentionOptions& options) {
  check_floating_point("attend", "query", query_DHK);
  check_relations(relation_H, query_DHK, options);
  check(!relation_H.empty(), "attend: relation_H is empty, needs a relation per head");
  check_attend(relation_H[0], query_DHK, key_SHK, value_SHV, options);
  if (attends_by_definition(relation_H[0], query_DHK, value_SHV, options)) {
    return attend_heads_plain(relation_H, query_DHK, key_SHK, value_SHV, options);
  }
  return apply_attend(make_attention({relation_H.begin(), relation_H.end()}, query_DHK, options),
                      {query_DHK, key_SHK, value_SHV, at::Tensor(), at::Tensor(), at::Tensor()}, options);
}

at::Tensor attention_weights(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                             const AttentionOptions& options) {
  check_types("attention_weights", query_DHK, key_SHK, options);
  check_query_and_key("attention_weights", relation, query_DHK, key_SHK, options);
  if (backend_of(query_DHK, /*has_gpu_kernel=*/false) == Backend::kDefinition)
    return attention_weights_plain(relation, query_DHK, key_SHK, options);
  Attention attention = make_attention({relation}, query_DHK, options);
  Tensors inputs = {query_DHK, key_SHK, options.edge_bias, options.edge_key};
  for (at::Tensor& column : bind_score_of(attention, query_DHK, options)) inputs.push_back(std::move(column));
  if (options.edge_key.defined() && needs_gradients(inputs)) {
    return attention_weights_plain(relation, query_DHK, key_SHK, options);
  }
  if (options.score && needs_gradients(inputs)) return differentiable_weights(relation, query_DHK, key_SHK, options);
  return apply_one<ComputeWeights>(inputs, std::move(attention));
}

std::string attention_kernel(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& value_SHV) {
  if (attends_by_definition(relation, query_DHK, value_SHV)) return "definition";
  if (backend_of(query_DHK) == Backend::kGpu) {
    const auto choose =
        query_DHK.scalar_type() == at::kBFloat16 ? choose_gpu_attention<BFloat16> : choose_gpu_attention<float>;
    const GpuAttention kernel = choose(relation, query_DHK.device(), sizes_of(query_DHK, value_SHV));
    return fmt::format("{}, {}", gpu_attention_name(kernel), query_DHK.is_cuda() ? "cuda" : "cuda-emulated");
  }
  const kernels::AttentionPlan& plan = plan_of(relation);
  const auto path = query_DHK.scalar_type() == at::kDouble ? plan.path_of<double>() : plan.path_of<float>();
  const std::string_view name = kernels::attention_path_name(path);
  if (path == kernels::AttentionPath::kReference) return std::string(name);
  return fmt::format("{}, {}", name, kernels::instruction_set_name(kernels::instruction_set()));
}

}  // namespace edgewise
