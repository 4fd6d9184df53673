// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/linear_layer.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>

#include "edgewise/base/error.h"
#include "edgewise/kernels/gemm/activation.h"
#include "edgewise/kernels/gemm/linear_gradient.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/dropout_kernel.h"
#include "edgewise/ops/matrix_product.h"
#include "edgewise/ops/tensor_parts.h"

namespace edgewise {
namespace {

using kernels::GemmResult;
using kernels::MatrixLayout;

/// Sets the right operand of a product, weights [K, N], and packs it where packing pays off. Packed weights are valid
/// until the next call on this thread.
template <typename T, typename Out>
void set_weights(kernels::Gemm<T, Out>& product, const kernels::Matrix<float>& weights) {
  constexpr std::int64_t kMinRowsToPack = 256;
  if constexpr (std::is_same_v<T, float>) {
    if (product.rows < kMinRowsToPack) {
      product.b = weights;
      return;
    }
  }
  static thread_local kernels::PackedMatrix<T> packed;
  packed.pack(weights, product.depth, product.columns);
  product.packed_b = &packed;
}

/// Computes x Wᵀ + bias, and its activation.
at::Tensor project(const at::Tensor& x_TI, const LinearWeights& parameters, kernels::GemmActivation activation) {
  const at::Tensor weight_OI = parameters.weight_OI.contiguous();
  const at::Tensor bias_O = parameters.bias_O.defined() ? parameters.bias_O.contiguous() : at::Tensor();
  const std::int64_t num_outputs = weight_OI.size(0);
  const std::int64_t num_inputs = weight_OI.size(1);
  std::vector<std::int64_t> sizes = x_TI.sizes().vec();
  sizes.back() = num_outputs;
  at::Tensor y_TO = at::empty(sizes, x_TI.options());
  with_float_or_bf16(x_TI.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    kernels::Gemm<T, T> gemm = {.rows = num_rows(y_TO),
                                .columns = num_outputs,
                                .depth = num_inputs,
                                .a = {data_or_null<T>(x_TI), num_inputs},
                                .bias = data_or_null<float>(bias_O),
                                .activation = activation,
                                .out = data_or_null<T>(y_TO),
                                .out_stride = num_outputs};
    set_weights(gemm, {data_or_null<float>(weight_OI), num_inputs, MatrixLayout::kColumns});
    kernels::gemm(gemm);
  });
  return y_TO;
}

void apply_dropout_in_place(const at::Tensor& x, const kernels::Dropout& rule) {
  if (rule.rate == 0.0) return;
  with_float_or_bf16(x.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    kernels::dropout(rule, x.numel(), data_or_null<T>(x), data_or_null<T>(x));
  });
}

/// Computes GELU or SiLU of x or, given the gradient of the result, the gradient of x, on all threads. The derivatives
/// of GELU and SiLU need their argument; ReLU's derivative needs only its result.
at::Tensor compute_activation(Activation activation, const at::Tensor& x, const at::Tensor& grad_out = {}) {
  const bool is_gelu = activation != Activation::kSilu;
  const std::string_view approximation = activation == Activation::kGeluTanh ? "tanh" : "none";
  const std::vector<at::Tensor> arguments = {x};
  const std::vector<at::Tensor> gradients = {grad_out};
  const std::vector<at::Tensor> results = {at::empty_like(x)};
  parallel_parts(split_tensors(arguments), [&](std::span<const TensorPart> parts) {
    for (const TensorPart& part : parts) {
      const at::Tensor from = take_part(arguments, part);
      at::Tensor to = take_part(results, part);
      if (grad_out.defined()) {
        const at::Tensor gradient = take_part(gradients, part);
        is_gelu ? at::gelu_backward_out(to, gradient, from, approximation) : at::silu_backward_out(to, gradient, from);
      } else {
        is_gelu ? at::gelu_out(to, from, approximation) : at::silu_out(to, from);
      }
    }
  });
  return results[0];
}

/// Returns whether the activation is ReLU, which products and the pass of dropout's gradient apply, or none.
bool is_fused(const LinearOptions& options) {
  return !options.activation.has_value() || *options.activation == Activation::kRelu;
}

/// Returns a contiguous [..., C] as a matrix [R, C].
at::Tensor as_matrix(const at::Tensor& x) {
  const at::IntArrayRef sizes = x.sizes();
  return x.view({c10::multiply_integers(sizes.slice(0, sizes.size() - 1)), sizes.back()});
}

/// Computes x Wᵀ + bias.
at::Tensor project_on_gpu(const at::Tensor& x_TI, const LinearWeights& parameters) {
  const at::Tensor weight_OI = parameters.weight_OI.to(x_TI.scalar_type());
  std::vector<std::int64_t> sizes = x_TI.sizes().vec();
  sizes.back() = weight_OI.size(0);
  at::Tensor y_TO = at::empty(sizes, x_TI.options());
  multiply_add_bias(as_matrix(x_TI), weight_OI.t(), parameters.bias_O, as_matrix(y_TO));
  return y_TO;
}

LayerResult forward_on_gpu(const at::Tensor& x_TI, const LinearWeights& parameters, const LinearOptions& options) {
  const at::Tensor y_TO = project_on_gpu(x_TI, parameters);
  const kernels::GemmActivation activation = activation_of(options);
  if (activation == kernels::GemmActivation::kNone && options.dropout == 0.0) return {y_TO, {}};
  const bool keeps_argument =
      activation != kernels::GemmActivation::kNone && activation != kernels::GemmActivation::kRelu;
  const at::Tensor out_TO = keeps_argument ? at::empty_like(y_TO) : y_TO;
  with_float_or_bf16(y_TO.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    const kernels::ActivationForward<T> arguments = {.activation = activation,
                                                     .count = y_TO.numel(),
                                                     .x = data_or_null<T>(y_TO),
                                                     .out = data_or_null<T>(out_TO),
                                                     .dropout = dropout_rule(options.dropout, options.dropout_key)};
    call_kernel(y_TO, [&](device::Stream stream) { kernels::activate(arguments, stream); });
  });
  return {out_TO, options.activation ? y_TO : at::Tensor()};
}

/// Computes the backward pass of dropout and of the activation, with the tensor that it saved; adds the sum of the
/// result's rows to grad_bias, if defined. Takes one pass over memory. The CPU's activation is none or ReLU.
at::Tensor backward_activation(const at::Tensor& grad_out_TO, kernels::GemmActivation activation,
                               const at::Tensor& saved_TO, const kernels::Dropout& rule,
                               const at::Tensor& grad_bias_O) {
  const bool is_changed = activation != kernels::GemmActivation::kNone || rule.rate > 0.0;
  if (!is_changed && !grad_bias_O.defined()) return grad_out_TO;
  at::Tensor grad_pre_TO = is_changed ? at::empty_like(grad_out_TO) : grad_out_TO;
  with_float_or_bf16(grad_out_TO.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    const kernels::ActivationGradient<T> p = {.activation = activation,
                                              .rows = num_rows(grad_out_TO),
                                              .columns = grad_out_TO.size(-1),
                                              .grad_out = data_or_null<T>(grad_out_TO),
                                              .saved = data_or_null<T>(saved_TO),
                                              .dropout = rule,
                                              .grad_x = is_changed ? data_or_null<T>(grad_pre_TO) : nullptr,
                                              .grad_bias = data_or_null<float>(grad_bias_O)};
    call_kernel<T>(
        grad_out_TO, [&] { kernels::activation_gradient(p); },
        [&](device::Stream stream) {
          at::Tensor workspace;
          if (grad_bias_O.defined()) {
            workspace = at::empty({kernels::gradient_workspace_size(p.rows, p.columns)}, grad_bias_O.options());
          }
          kernels::activation_gradient(p, data_or_null<float>(workspace), stream);
        });
  });
  return grad_pre_TO;
}

void grad_weight_on_gpu(const at::Tensor& grad_pre_TO, const at::Tensor& x_TI, const GradientBuffer& grad_weight_OI) {
  multiply(as_matrix(grad_pre_TO).t(), as_matrix(x_TI),
           grad_weight_OI.is_accumulated ? GemmResult::kAdd : GemmResult::kWrite, grad_weight_OI.memory);
}

}  // namespace

kernels::GemmActivation activation_of(const LinearOptions& options) {
  if (!options.activation) return kernels::GemmActivation::kNone;
  switch (*options.activation) {
    case Activation::kRelu:
      return kernels::GemmActivation::kRelu;
    case Activation::kGelu:
      return kernels::GemmActivation::kGelu;
    case Activation::kSilu:
      return kernels::GemmActivation::kSilu;
    case Activation::kGeluTanh:
      return kernels::GemmActivation::kGeluTanh;
  }
  fail("linear: activation is {}, needs one of enum_names", static_cast<int>(*options.activation));
}

LayerResult layer_forward(const at::Tensor& x_TI, const LinearWeights& parameters, const LinearOptions& options) {
  if (backend_of(x_TI) == Backend::kGpu) return forward_on_gpu(x_TI, parameters, options);
  const kernels::GemmActivation relu = is_fused(options) ? activation_of(options) : kernels::GemmActivation::kNone;
  const at::Tensor y_TO = project(x_TI, parameters, relu);
  const at::Tensor out_TO = is_fused(options) ? y_TO : compute_activation(*options.activation, y_TO);
  apply_dropout_in_place(out_TO, dropout_rule(options.dropout, options.dropout_key));
  return {out_TO, options.activation.has_value() ? y_TO : at::Tensor()};
}

at::Tensor layer_grad_preactivation(const at::Tensor& grad_out_TO, const at::Tensor& saved_TO,
                                    const LinearOptions& options, const at::Tensor& grad_bias_O) {
  const kernels::GemmActivation activation = activation_of(options);
  const kernels::Dropout dropout = dropout_rule(options.dropout, options.dropout_key);
  if (is_fused(options) || backend_of(grad_out_TO) == Backend::kGpu) {
    return backward_activation(grad_out_TO, activation, saved_TO, dropout, grad_bias_O);
  }
  constexpr auto kNone = kernels::GemmActivation::kNone;
  const at::Tensor grad_activation_TO = backward_activation(grad_out_TO, kNone, {}, dropout, {});
  return backward_activation(compute_activation(*options.activation, saved_TO, grad_activation_TO), kNone, {}, {},
                             grad_bias_O);
}

void layer_grad_weight(const at::Tensor& grad_pre_TO, const at::Tensor& x_TI, const GradientBuffer& grad_weight_OI) {
  if (backend_of(x_TI) == Backend::kGpu) return grad_weight_on_gpu(grad_pre_TO, x_TI, grad_weight_OI);
  const std::int64_t num_outputs = grad_weight_OI.memory.size(0);
  const std::int64_t num_inputs = grad_weight_OI.memory.size(1);
  with_float_or_bf16(x_TI.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    kernels::gemm(
        kernels::Gemm<T, float>{.rows = num_outputs,
                                .columns = num_inputs,
                                .depth = num_rows(grad_pre_TO),
                                .a = {data_or_null<T>(grad_pre_TO), num_outputs, MatrixLayout::kColumns},
                                .b = {data_or_null<T>(x_TI), num_inputs},
                                .result = grad_weight_OI.is_accumulated ? GemmResult::kAdd : GemmResult::kWrite,
                                .out = data_or_null<float>(grad_weight_OI.memory),
                                .out_stride = num_inputs});
  });
}

void layer_grad_x(const at::Tensor& grad_pre_TO, const at::Tensor& weight_OI, GemmResult mode,
                  const at::Tensor& grad_x_TI) {
  if (backend_of(grad_x_TI) == Backend::kGpu) {
    return multiply(as_matrix(grad_pre_TO), weight_OI.to(grad_x_TI.scalar_type()), mode, as_matrix(grad_x_TI));
  }
  const at::Tensor contiguous_OI = weight_OI.contiguous();
  const std::int64_t num_outputs = weight_OI.size(0);
  const std::int64_t num_inputs = weight_OI.size(1);
  with_float_or_bf16(grad_x_TI.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    kernels::Gemm<T, T> gemm = {.rows = num_rows(grad_x_TI),
                                .columns = num_inputs,
                                .depth = num_outputs,
                                .a = {data_or_null<T>(grad_pre_TO), num_outputs},
                                .result = mode,
                                .out = data_or_null<T>(grad_x_TI),
                                .out_stride = num_inputs};
    set_weights(gemm, {data_or_null<float>(contiguous_OI), num_inputs});
    kernels::gemm(gemm);
  });
}

}  // namespace edgewise
