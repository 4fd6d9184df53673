// SPDX-License-Identifier: Apache-2.0
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <cmath>
#include <utility>

#include "edgewise/kernels/message/edge_products.h"
#include "edgewise/kernels/message/edge_softmax.h"
#include "edgewise/ops/attend.h"
#include "edgewise/ops/attention_arguments.h"
#include "edgewise/ops/edge_softmax.h"
#include "edgewise/ops/score_node.h"

namespace edgewise {
namespace {

/// Sets the gradients of the scores that the clamp bounds to zero.
template <typename T>
void clear_clamped_gradients(const AttentionCall& attention, const AttentionTensors& tensors,
                             at::Tensor& grad_score_EH) {
  const at::Tensor score_EH = at::empty_like(grad_score_EH);
  kernels::edge_dot(
      {attention.relation().derive<kernels::EdgeOrders>(), tensors.query_DHK.size(1), tensors.query_DHK.size(2)},
      tensors.query_DHK.const_data_ptr<T>(), tensors.key_SHK.const_data_ptr<T>(), score_EH.data_ptr<T>());
  grad_score_EH.masked_fill_((score_EH * attention.scale).abs_() > attention.clamp, 0);
}

/// Inputs: query_DHK, key_SHK, edge_bias_EH, edge_key_EHK, columns of the score function. There is no backward with a
/// score function, keys of edges, or fewer heads of keys.
class ComputeWeights : public Operation {
 public:
  explicit ComputeWeights(AttentionCall attention) : attention_(std::move(attention)) {}

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
  AttentionCall attention_;
};

/// The dot products of queries and keys along edges, [E, H], in the type of sums.
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
    return {relation_.derive<kernels::EdgeOrders>(), query_DHK.size(1), query_DHK.size(2)};
  }

  Relation relation_;
};

/// Computes the weights of a score function with gradients. The scores may take O(E * H) memory, as the weights do.
at::Tensor differentiable_weights(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                                  const AttentionOptions& options) {
  const at::ScalarType type = parameter_type(query_DHK);
  const at::Tensor product_EH = apply_one<EdgeProducts>({query_DHK.to(type), key_SHK.to(type)}, relation);
  const at::Tensor scaled_EH = product_EH * scale_or_default(options, query_DHK);
  return edge_softmax(relation, score_plain(relation, *options.score, scaled_EH).contiguous());
}

}  // namespace

at::Tensor attention_weights(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                             const AttentionOptions& options) {
  check_attention_types("attention_weights", query_DHK, key_SHK, options);
  check_query_and_key("attention_weights", relation, query_DHK, key_SHK, options);
  if (backend_of(query_DHK, /*has_gpu_kernel=*/false) == Backend::kDefinition)
    return attention_weights_plain(relation, query_DHK, key_SHK, options);
  AttentionCall attention = make_attention_call({relation}, query_DHK, options);
  Tensors inputs = {query_DHK, key_SHK, options.edge_bias, options.edge_key};
  for (at::Tensor& column : bind_score_of(attention, query_DHK, options)) inputs.push_back(std::move(column));
  const bool has_groups = key_SHK.size(1) != query_DHK.size(1);
  if ((options.edge_key.defined() || has_groups) && needs_gradients(inputs)) {
    return attention_weights_plain(relation, query_DHK, key_SHK, options);
  }
  if (options.score && needs_gradients(inputs)) return differentiable_weights(relation, query_DHK, key_SHK, options);
  return apply_one<ComputeWeights>(inputs, std::move(attention));
}

}  // namespace edgewise
