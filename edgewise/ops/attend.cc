// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/attend.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/profile.h"
#include "edgewise/kernels/attention/attention_plan.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/ops/attention_arguments.h"
#include "edgewise/ops/gpu_attention.h"
#include "edgewise/ops/score_node.h"

namespace edgewise {
namespace {

/// Calls fn(arguments, relation) once if all heads share one relation, else for each head with its relation.
template <typename T, class Fn>
void for_relations(const AttentionCall& attention, kernels::AttentionForward<T> p, Fn fn) {
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

/// Returns the buffer of AttentionForward::saved_weights; undefined if forward has nothing to save, as on GPUs.
at::Tensor allocate_saved_weights(const AttentionCall& attention, const at::Tensor& query_DHK) {
  if (!attention.needs_gradients || backend_of(query_DHK) == Backend::kGpu) return {};
  const std::int64_t heads_per_relation = attention.has_one_per_head() ? 1 : query_DHK.size(1);
  std::int64_t count = 0;
  with_floating_point(query_DHK, [&](auto zero) {
    for (const Relation& relation : attention.relations) {
      count += heads_per_relation * plan_of(relation).num_saved_weights<decltype(zero)>();
    }
  });
  return count == 0 ? at::Tensor() : at::empty({count}, accumulator_options(query_DHK));
}

constexpr std::size_t kFirstScoreInput = 6;  // the index of the first column among inputs, and among saved tensors
constexpr std::size_t kFirstScoreSaved = 9;

/// Inputs: query_DHK, key_SHK, value_SHV, edge_bias_EH, edge_key_EHK, edge_value_EHV, columns of the score function.
class Attend : public Operation {
 public:
  explicit Attend(AttentionCall attention) : attention_(std::move(attention)) {}

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

  AttentionCall attention_;
};

/// Returns queries or keys for a score function that does not read products.
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

void check_attend(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                  const at::Tensor& value_SHV, const AttentionOptions& options) {
  check_attention_types("attend", query_DHK, key_SHK, options);
  check_floating_point("attend", "value", value_SHV);
  check_same_type("attend", "value", value_SHV, "query", query_DHK);
  check_query_and_key("attend", relation, query_DHK, key_SHK, options);
  check_value("attend", relation, key_SHK, value_SHV, options);
}

HeadSizes sizes_of(const at::Tensor& query_DHK, const at::Tensor& value_SHV) {
  return {query_DHK.size(2), value_SHV.size(2)};
}

bool attends_by_definition(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& value_SHV) {
  const bool has_gpu_kernel = can_attend_on_gpu(relation, query_DHK.size(1), sizes_of(query_DHK, value_SHV));
  return backend_of(query_DHK, has_gpu_kernel) == Backend::kDefinition;
}

/// GPUs have no kernels with score functions, nor with vectors of edges or fewer heads of keys and values.
bool attends_by_definition(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& value_SHV,
                           const AttentionOptions& options) {
  const bool has_groups = value_SHV.size(1) != query_DHK.size(1);
  const bool needs_cpu = options.score || options.edge_key.defined() || options.edge_value.defined() || has_groups;
  return needs_cpu ? backend_of(query_DHK, /*has_gpu_kernel=*/false) == Backend::kDefinition
                   : attends_by_definition(relation, query_DHK, value_SHV);
}

at::Tensor apply_attend(AttentionCall attention, Tensors inputs, const AttentionOptions& options) {
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
  return apply_attend(make_attention_call({relation}, query_DHK, options),
                      {query_DHK, key_SHK, value_SHV, options.edge_bias, options.edge_key, options.edge_value},
                      options);
}

at::Tensor attend(std::span<const Relation> relation_H, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                  const at::Tensor& value_SHV, const AttentionOptions& options) {
  check_floating_point("attend", "query", query_DHK);
  check_relations(relation_H, query_DHK, options);
  check(!relation_H.empty(), "attend: relation_H is empty, needs a relation per head");
  check_attend(relation_H[0], query_DHK, key_SHK, value_SHV, options);
  check_same_heads("attend", "key", key_SHK, "query", query_DHK);
  if (attends_by_definition(relation_H[0], query_DHK, value_SHV, options)) {
    return attend_heads_plain(relation_H, query_DHK, key_SHK, value_SHV, options);
  }
  return apply_attend(make_attention_call({relation_H.begin(), relation_H.end()}, query_DHK, options),
                      {query_DHK, key_SHK, value_SHV, at::Tensor(), at::Tensor(), at::Tensor()}, options);
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
