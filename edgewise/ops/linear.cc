// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/linear.h"

#include <ATen/ops/empty_like.h>

#include <memory>
#include <string_view>
#include <utility>

#include "edgewise/base/profile.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/linear_layer.h"
#include "edgewise/ops/operation.h"

namespace edgewise {
namespace {

// All about a group of layers but its tensors. Parameters lie in one list, each weight followed by its bias, if any.
struct Group {
  LinearOptions options;
  std::vector<bool> has_bias;
};

constexpr std::size_t kFirstParameter = 1;  // among inputs and what is saved; x is before it

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

// Inputs: x_TI, and the parameters. Outputs: those of the layers.
class LinearGroup : public Operation {
 public:
  explicit LinearGroup(Group group) : group_(std::move(group)) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    const TimedWork timed("linear layers");
    Tensors results;
    saved = inputs;
    saved[0] = inputs[0].contiguous();
    for (const auto& [weight, bias] : places(group_)) {
      const LinearWeights layer = {inputs[weight], bias > 0 ? inputs[bias] : at::Tensor()};
      const auto [out_TO, witness_TO] = layer_forward(saved[0], layer, group_.options);
      results.push_back(out_TO);
      saved.push_back(witness_TO);
    }
    return results;
  }

  Tensors backward(const BackwardPass& pass) override {
    const TimedWork timed("linear layers");
    check_differentiated_once("linear");
    const auto& [saved, grad_outputs, wanted] = pass;
    const std::size_t first_witness = saved.size() - grad_outputs.size();
    const std::vector<Place> layers = places(group_);
    Tensors gradients(first_witness);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (!grad_outputs[i].defined()) continue;
      const auto [weight, bias] = layers[i];
      const bool wants_bias = bias > 0 && wanted[bias];
      const GradientPlace grad_bias_O = wants_bias ? zeroed_gradient_place(saved[bias]) : GradientPlace();
      const at::Tensor grad_sums_TO =
          layer_grad_sums(grad_outputs[i].contiguous(), saved[first_witness + i], group_.options, grad_bias_O.memory);
      if (wants_bias) gradients[bias] = grad_bias_O.for_autograd();
      if (wanted[weight]) gradients[weight] = grad_of_weight(grad_sums_TO, saved[0], saved[weight]);
      if (wanted[0]) add_to_grad_x(grad_sums_TO, saved[0], saved[weight], gradients[0]);
    }
    return gradients;
  }

  bool takes_undefined_gradients() const override { return true; }

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

  Group group_;
};

void check_layer(std::string_view function, const at::Tensor& x_TI, const LinearWeights& layer) {
  check_projection(function, "x", x_TI, layer.weight_OI, layer.bias_O);
}

Tensors apply_layers(const at::Tensor& x_TI, std::span<const LinearWeights> layers, const LinearOptions& options) {
  Tensors inputs = {x_TI};
  Group group{options, {}};
  for (const auto& [weight_OI, bias_O] : layers) {
    inputs.push_back(weight_OI);
    if (bias_O.defined()) inputs.push_back(bias_O);
    group.has_bias.push_back(bias_O.defined());
  }
  return apply_operation(std::make_unique<LinearGroup>(std::move(group)), inputs);
}

}  // namespace

at::Tensor linear(const at::Tensor& x_TI, const at::Tensor& weight_OI, const at::Tensor& bias_O,
                  const LinearOptions& options) {
  const LinearWeights layer = {weight_OI, bias_O};
  check_layer("linear", x_TI, layer);
  check_dropout_rate("linear", "dropout", options.dropout);
  if (x_TI.scalar_type() == at::kDouble) return linear_plain(x_TI, weight_OI, bias_O, options);
  return apply_layers(x_TI, {&layer, 1}, options)[0];
}

std::vector<at::Tensor> linear_group(const at::Tensor& x_TI, std::span<const LinearWeights> layers) {
  for (const LinearWeights& layer : layers) check_layer("linear_group", x_TI, layer);
  if (x_TI.scalar_type() != at::kDouble) return apply_layers(x_TI, layers, {});
  std::vector<at::Tensor> results;
  for (const auto& [weight_OI, bias_O] : layers) results.push_back(linear_plain(x_TI, weight_OI, bias_O));
  return results;
}

}  // namespace edgewise
