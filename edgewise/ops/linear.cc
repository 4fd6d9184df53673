// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/linear.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/silu.h>

#include <memory>
#include <utility>

#include "edgewise/base/address_space.h"
#include "edgewise/base/error.h"
#include "edgewise/base/profile.h"
#include "edgewise/kernels/gemm/gated_activation.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/dropout_kernel.h"
#include "edgewise/ops/linear_layer.h"
#include "edgewise/ops/operation.h"

namespace edgewise {
namespace {

/// The settings of a group of layers. One list holds their parameters, each weight followed by its bias, if any.
struct Group {
  LinearOptions options;
  std::vector<bool> has_bias;
};

constexpr std::size_t kFirstParameter = 1;  // index among inputs and saved tensors; x has index 0

/// Indices of a layer's parameters among inputs and saved tensors.
struct ParameterIndices {
  std::size_t weight;
  std::size_t bias;  // 0: no bias
};

std::vector<ParameterIndices> list_indices(const Group& group) {
  std::vector<ParameterIndices> indices;
  std::size_t next = kFirstParameter;
  for (const bool has_bias : group.has_bias) {
    indices.push_back({next, has_bias ? next + 1 : 0});
    next += has_bias ? 2 : 1;
  }
  return indices;
}

/// Inputs: x_TI and the parameters. Outputs: one for each layer. Saved: the inputs, and each layer's saved_TO.
class LinearGroup : public Operation {
 public:
  explicit LinearGroup(Group group) : group_(std::move(group)) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    const ScopedTimer timer("linear layers");
    Tensors results;
    saved = inputs;
    saved[0] = aligned_contiguous(inputs[0]);
    for (const auto& [weight, bias] : list_indices(group_)) {
      const LinearWeights layer = {inputs[weight], bias > 0 ? inputs[bias] : at::Tensor()};
      const auto [out_TO, saved_TO] = layer_forward(saved[0], layer, group_.options);
      results.push_back(out_TO);
      saved.push_back(saved_TO);
    }
    return results;
  }

  Tensors backward(const BackwardPass& pass) override {
    const ScopedTimer timer("linear layers");
    check_differentiated_once("linear");
    const auto& [saved, grad_outputs, needs_gradient] = pass;
    const std::size_t first_saved_activation = saved.size() - grad_outputs.size();
    const std::vector<ParameterIndices> layers = list_indices(group_);
    Tensors gradients(first_saved_activation);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (!grad_outputs[i].defined()) continue;
      const auto [weight, bias] = layers[i];
      const bool needs_grad_bias = bias > 0 && needs_gradient[bias];
      const GradientBuffer grad_bias_O = needs_grad_bias ? zeroed_gradient_buffer(saved[bias]) : GradientBuffer();
      const at::Tensor grad_pre_TO = layer_grad_preactivation(
          aligned_contiguous(grad_outputs[i]), saved[first_saved_activation + i], group_.options, grad_bias_O.memory);
      if (needs_grad_bias) gradients[bias] = grad_bias_O.gradient_for_autograd();
      if (needs_gradient[weight]) gradients[weight] = weight_gradient(grad_pre_TO, saved[0], saved[weight]);
      if (needs_gradient[0]) add_to_grad_x(grad_pre_TO, saved[0], saved[weight], gradients[0]);
    }
    return gradients;
  }

  bool takes_undefined_gradients() const override { return true; }

 private:
  static at::Tensor weight_gradient(const at::Tensor& grad_pre_TO, const at::Tensor& x_TI,
                                    const at::Tensor& weight_OI) {
    const GradientBuffer buffer = gradient_buffer(weight_OI);
    layer_grad_weight(grad_pre_TO, x_TI, buffer);
    return buffer.gradient_for_autograd();
  }

  static void add_to_grad_x(const at::Tensor& grad_pre_TO, const at::Tensor& x_TI, const at::Tensor& weight_OI,
                            at::Tensor& grad_x_TI) {
    const auto mode = grad_x_TI.defined() ? kernels::GemmResult::kAdd : kernels::GemmResult::kWrite;
    if (!grad_x_TI.defined()) grad_x_TI = at::empty_like(x_TI);
    layer_grad_x(grad_pre_TO, weight_OI, mode, grad_x_TI);
  }

  Group group_;
};

/// Inputs: gate and x.
class Gate : public Operation {
 public:
  explicit Gate(const LinearOptions& options) : options_(options) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    const ScopedTimer timer("gates");
    saved = {inputs[0].contiguous(), inputs[1].contiguous()};
    const at::Tensor out = at::empty_like(saved[1]);
    with_float_or_bf16(out.scalar_type(), [&](auto zero) {
      using T = decltype(zero);
      kernels::gated_activation(kernels::GatedActivation<T>{.activation = activation_of(options_),
                                                            .count = out.numel(),
                                                            .gate = data_or_null<T>(saved[0]),
                                                            .x = data_or_null<T>(saved[1]),
                                                            .out = data_or_null<T>(out),
                                                            .dropout = rule()});
    });
    return {out};
  }

  Tensors backward(const BackwardPass& pass) override {
    const ScopedTimer timer("gates");
    check_differentiated_once("gate");
    const at::Tensor grad_out = pass.grad_outputs[0].contiguous();
    Tensors gradients = {at::empty_like(pass.saved[0]), at::empty_like(pass.saved[1])};
    with_float_or_bf16(grad_out.scalar_type(), [&](auto zero) {
      using T = decltype(zero);
      kernels::gated_activation_gradient(kernels::GatedActivationGradient<T>{.activation = activation_of(options_),
                                                                             .count = grad_out.numel(),
                                                                             .gate = data_or_null<T>(pass.saved[0]),
                                                                             .x = data_or_null<T>(pass.saved[1]),
                                                                             .grad_out = data_or_null<T>(grad_out),
                                                                             .grad_gate = data_or_null<T>(gradients[0]),
                                                                             .grad_x = data_or_null<T>(gradients[1]),
                                                                             .dropout = rule()});
    });
    return gradients;
  }

 private:
  kernels::Dropout rule() const { return dropout_rule(options_.dropout, options_.dropout_key); }

  LinearOptions options_;
};

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

at::Tensor activate(const at::Tensor& x, std::optional<Activation> activation) {
  if (!activation) return x;
  switch (*activation) {
    case Activation::kRelu:
      return x.relu();
    case Activation::kGelu:
      return at::gelu(x);
    case Activation::kSilu:
      return at::silu(x);
    case Activation::kGeluTanh:
      return at::gelu(x, "tanh");
  }
  fail("linear: activation is {}, needs one of enum_names", static_cast<int>(*activation));
}

}  // namespace

at::Tensor linear(const at::Tensor& x_TI, const at::Tensor& weight_OI, const at::Tensor& bias_O,
                  const LinearOptions& options) {
  check_projection("linear", "x", x_TI, weight_OI, bias_O);
  check_dropout_rate("linear", "dropout", options.dropout);
  if (x_TI.scalar_type() == at::kDouble || backend_of(x_TI) == Backend::kDefinition)
    return linear_plain(x_TI, weight_OI, bias_O, options);
  const LinearWeights layer = {weight_OI, bias_O};
  return apply_layers(x_TI, {&layer, 1}, options)[0];
}

std::vector<at::Tensor> linear_group(const at::Tensor& x_TI, std::span<const LinearWeights> layers) {
  for (const auto& [weight_OI, bias_O] : layers) check_projection("linear_group", "x", x_TI, weight_OI, bias_O);
  if (x_TI.scalar_type() != at::kDouble && backend_of(x_TI) != Backend::kDefinition)
    return apply_layers(x_TI, layers, {});
  std::vector<at::Tensor> results;
  for (const auto& [weight_OI, bias_O] : layers) results.push_back(linear_plain(x_TI, weight_OI, bias_O));
  return results;
}

at::Tensor gate(const at::Tensor& gate, const at::Tensor& x, const LinearOptions& options) {
  check_floating_point("gate", "x", x);
  check_same_type("gate", "gate", gate, "x", x);
  check(gate.sizes() == x.sizes(), "gate: gate is {} but x is {}, needs the same shape", shape_text(gate),
        shape_text(x));
  check_dropout_rate("gate", "dropout", options.dropout);
  if (x.scalar_type() == at::kDouble || backend_of(x, /*has_gpu_kernel=*/false) == Backend::kDefinition) {
    return gate_plain(gate, x, options);
  }
  return apply_one<Gate>({gate, x}, options);
}

at::Tensor gate_plain(const at::Tensor& gate, const at::Tensor& x, const LinearOptions& options) {
  const at::ScalarType type = parameter_type(x);
  const at::Tensor product = activate(gate.to(type), options.activation) * x.to(type);
  return dropout(product, options.dropout, options.dropout_key).to(x.scalar_type());
}

at::Tensor linear_plain(const at::Tensor& x_TI, const at::Tensor& weight_OI, const at::Tensor& bias_O,
                        const LinearOptions& options) {
  const LibraryCall call;
  const at::ScalarType type = parameter_type(x_TI);
  const at::Tensor weight_as_used_OI = weight_OI.to(x_TI.scalar_type()).to(type);
  const at::Tensor y_TO = at::linear(x_TI.to(type), weight_as_used_OI, bias_O);
  return dropout(activate(y_TO, options.activation), options.dropout, options.dropout_key).to(x_TI.scalar_type());
}

}  // namespace edgewise
