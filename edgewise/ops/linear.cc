// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/linear.h"

#include <ATen/ops/empty_like.h>

#include <string_view>

#include "edgewise/base/profile.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/function_state.h"
#include "edgewise/ops/linear_layer.h"

namespace edgewise {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// All about a group of layers but its tensors. Parameters lie in one list, each weight followed by its bias, if any.
struct Group {
  LinearOptions options;
  std::vector<bool> has_bias;
};

constexpr std::size_t kFirstParameter = 1;  // among the inputs of the function and what it saves; x is before it

// Where the layers of a group have their parameters.
struct Place {
  std::size_t weight;
  std::size_t bias;  // 0: none
};

std::vector<Place> places(const Group& group) {
  std::vector<Place> found;
  std::size_t next = kFirstParameter;
  for (const bool has_bias : group.has_bias) {
    found.push_back({next, has_bias ? next + 1 : 0});
    next += has_bias ? 2 : 1;
  }
  return found;
}

struct LinearGroup : Function<LinearGroup> {
  static variable_list forward(AutogradContext* context, const at::Tensor& x_TI, at::TensorList parameters,
                               const Group& group) {
    const TimedWork timed("linear layers");
    context->set_materialize_grads(false);
    const at::Tensor contiguous_TI = x_TI.contiguous();
    variable_list results;
    variable_list saved = {contiguous_TI};
    saved.insert(saved.end(), parameters.begin(), parameters.end());
    for (const auto& [weight, bias] : places(group)) {
      const LinearWeights layer = {parameters[weight - kFirstParameter],
                                   bias > 0 ? parameters[bias - kFirstParameter] : at::Tensor()};
      const auto [out_TO, witness_TO] = layer_forward(contiguous_TI, layer, group.options);
      results.push_back(out_TO);
      saved.push_back(witness_TO);
    }
    context->save_for_backward(saved);
    save_state(context, group);
    return results;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grad_outputs) {
    const TimedWork timed("linear layers");
    check_differentiated_once("linear");
    const Group& group = saved_state<Group>(context);
    const variable_list saved = context->get_saved_variables();
    const std::size_t first_witness = saved.size() - grad_outputs.size();
    const std::vector<Place> layers = places(group);
    variable_list gradients(first_witness + 1);  // one more for the group
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (!grad_outputs[i].defined()) continue;
      const auto [weight, bias] = layers[i];
      const bool wants_bias = bias > 0 && context->needs_input_grad(bias);
      const GradientPlace grad_bias_O = wants_bias ? zeroed_gradient_place(saved[bias]) : GradientPlace();
      const at::Tensor grad_sums_TO =
          layer_grad_sums(grad_outputs[i].contiguous(), saved[first_witness + i], group.options, grad_bias_O.memory);
      if (wants_bias) gradients[bias] = grad_bias_O.for_autograd();
      if (context->needs_input_grad(weight)) gradients[weight] = grad_of_weight(grad_sums_TO, saved[0], saved[weight]);
      if (context->needs_input_grad(0)) add_to_grad_x(grad_sums_TO, saved[0], saved[weight], gradients[0]);
    }
    return gradients;
  }

 private:
  static at::Tensor grad_of_weight(const at::Tensor& grad_sums_TO, const at::Tensor& x_TI,
                                   const at::Tensor& weight_OI) {
    const GradientPlace place = gradient_place(weight_OI);
    layer_grad_weight(grad_sums_TO, x_TI, place);
    return place.for_autograd();
  }

  static void add_to_grad_x(const at::Tensor& grad_sums_TO, const at::Tensor& x_TI, const at::Tensor& weight_OI,
                            at::Tensor& grad_x_TI) {
    const GradX mode = grad_x_TI.defined() ? GradX::kAdd : GradX::kWrite;
    if (mode == GradX::kWrite) grad_x_TI = at::empty_like(x_TI);
    layer_grad_x(grad_sums_TO, weight_OI, mode, grad_x_TI);
  }
};

void check_layer(std::string_view function, const at::Tensor& x_TI, const LinearWeights& layer) {
  check_projection(function, "x", x_TI, layer.weight_OI, layer.bias_O);
}

std::vector<at::Tensor> apply(const at::Tensor& x_TI, std::span<const LinearWeights> layers,
                              const LinearOptions& options) {
  std::vector<at::Tensor> parameters;
  Group group{options, {}};
  for (const auto& [weight_OI, bias_O] : layers) {
    parameters.push_back(weight_OI);
    if (bias_O.defined()) parameters.push_back(bias_O);
    group.has_bias.push_back(bias_O.defined());
  }
  return LinearGroup::apply(x_TI, at::TensorList(parameters), group);
}

}  // namespace

at::Tensor linear(const at::Tensor& x_TI, const at::Tensor& weight_OI, const at::Tensor& bias_O,
                  const LinearOptions& options) {
  const LinearWeights layer = {weight_OI, bias_O};
  check_layer("linear", x_TI, layer);
  check_dropout_rate("linear", "dropout", options.dropout);
  if (x_TI.scalar_type() == at::kDouble) return linear_plain(x_TI, weight_OI, bias_O, options);
  return apply(x_TI, {&layer, 1}, options)[0];
}

std::vector<at::Tensor> linear_group(const at::Tensor& x_TI, std::span<const LinearWeights> layers) {
  for (const LinearWeights& layer : layers) check_layer("linear_group", x_TI, layer);
  if (x_TI.scalar_type() != at::kDouble) return apply(x_TI, layers, {});
  std::vector<at::Tensor> results;
  for (const auto& [weight_OI, bias_O] : layers) results.push_back(linear_plain(x_TI, weight_OI, bias_O));
  return results;
}

}  // namespace edgewise
