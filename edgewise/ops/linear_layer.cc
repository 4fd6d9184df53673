// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/linear_layer.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>

#include "edgewise/kernels/gemm/gemm.h"
#include "edgewise/kernels/gemm/linear_gradient.h"
#include "edgewise/ops/definition.h"
#include "edgewise/ops/dropout_kernel.h"
#include "edgewise/ops/element_types.h"
#include "edgewise/ops/linear_layer_gpu.h"
#include "edgewise/ops/tensor_parts.h"

namespace edgewise {
namespace {

using kernels::MatrixLayout;

// Sets the right operand of a product, weights [K, N], and packs it where packing pays off. Packed weights are valid
// until the next call on this thread.
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

// Computes x Wᵀ + bias, and its activation.
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

// Computes the backward pass of dropout and, if relu_out is defined, of ReLU; adds the sum of the result's rows to
// grad_bias, if defined. Takes one pass over memory.
at::Tensor backward_relu_dropout(const at::Tensor& grad_out_TO, const at::Tensor& relu_out_TO,
                                 const kernels::Dropout& rule, const at::Tensor& grad_bias_O) {
  const bool is_changed = relu_out_TO.defined() || rule.rate > 0.0;
  if (!is_changed && !grad_bias_O.defined()) return grad_out_TO;
  at::Tensor grad_sum_TO = is_changed ? at::empty_like(grad_out_TO) : grad_out_TO;
  with_float_or_bf16(grad_out_TO.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    kernels::linear_gradient(kernels::LinearGradient<T>{
        .rows = num_rows(grad_out_TO),
        .columns = grad_out_TO.size(-1),
        .grad_out = data_or_null<T>(grad_out_TO),
        .relu_out = data_or_null<T>(relu_out_TO),
        .dropout = rule,
        .grad_sum = is_changed ? data_or_null<T>(grad_sum_TO) : nullptr,
        .grad_bias = data_or_null<float>(grad_bias_O),
    });
  });
  return grad_sum_TO;
}

/// Computes GELU or SiLU, whose derivatives need their argument. ReLU's derivative needs only its result.
void compute_activation(Activation activation, const at::Tensor& x, at::Tensor& out) {
  if (activation == Activation::kGelu) {
    at::gelu_out(out, x);
  } else {
    at::silu_out(out, x);
  }
}

void compute_activation_gradient(Activation activation, const at::Tensor& grad_out, const at::Tensor& x,
                                 at::Tensor& grad_x) {
  if (activation == Activation::kGelu) {
    at::gelu_backward_out(grad_x, grad_out, x);
  } else {
    at::silu_backward_out(grad_x, grad_out, x);
  }
}

/// Runs compute_activation on all threads.
at::Tensor parallel_activation(Activation activation, const at::Tensor& x) {
  const std::vector<at::Tensor> from = {x.contiguous()};
  const std::vector<at::Tensor> to = {at::empty_like(from[0])};
  parallel_parts(split_tensors(from), [&](std::span<const TensorPart> parts) {
    for (const TensorPart& part : parts) {
      at::Tensor out = take_part(to, part);
      compute_activation(activation, take_part(from, part), out);
    }
  });
  return to[0];
}

/// Runs compute_activation_gradient on all threads.
at::Tensor parallel_activation_gradient(Activation activation, const at::Tensor& grad_out, const at::Tensor& x) {
  const std::vector<at::Tensor> from = {grad_out.contiguous()};
  const std::vector<at::Tensor> values = {x.contiguous()};
  const std::vector<at::Tensor> to = {at::empty_like(from[0])};
  parallel_parts(split_tensors(from), [&](std::span<const TensorPart> parts) {
    for (const TensorPart& part : parts) {
      at::Tensor grad_x = take_part(to, part);
      compute_activation_gradient(activation, take_part(from, part), take_part(values, part), grad_x);
    }
  });
  return to[0];
}

/// Returns whether the activation is ReLU, which products and the pass of dropout's gradient apply, or none.
bool is_fused(const LinearOptions& options) {
  return !options.activation.has_value() || *options.activation == Activation::kRelu;
}

}  // namespace

LayerResult layer_forward(const at::Tensor& x_TI, const LinearWeights& parameters, const LinearOptions& options) {
  if (uses_gpu_kernels(x_TI)) return gpu::layer_forward(x_TI, parameters, options);
  const bool is_relu = options.activation == Activation::kRelu;
  const at::Tensor y_TO =
      project(x_TI, parameters, is_relu ? kernels::GemmActivation::kRelu : kernels::GemmActivation::kNone);
  const at::Tensor out_TO = is_fused(options) ? y_TO : parallel_activation(*options.activation, y_TO);
  apply_dropout_in_place(out_TO, dropout_rule(options.dropout, options.dropout_key));
  return {out_TO, options.activation.has_value() ? y_TO : at::Tensor()};
}

at::Tensor layer_grad_preactivation(const at::Tensor& grad_out_TO, const at::Tensor& saved_TO,
                                    const LinearOptions& options, const at::Tensor& grad_bias_O) {
  if (uses_gpu_kernels(grad_out_TO)) return gpu::layer_grad_preactivation(grad_out_TO, saved_TO, options, grad_bias_O);
  const kernels::Dropout dropout = dropout_rule(options.dropout, options.dropout_key);
  if (is_fused(options)) return backward_relu_dropout(grad_out_TO, saved_TO, dropout, grad_bias_O);
  const at::Tensor grad_activation_TO = backward_relu_dropout(grad_out_TO, {}, dropout, {});
  return backward_relu_dropout(parallel_activation_gradient(*options.activation, grad_activation_TO, saved_TO), {}, {},
                               grad_bias_O);
}

void layer_grad_weight(const at::Tensor& grad_pre_TO, const at::Tensor& x_TI, const GradientBuffer& grad_weight_OI) {
  if (uses_gpu_kernels(x_TI)) return gpu::layer_grad_weight(grad_pre_TO, x_TI, grad_weight_OI);
  const std::int64_t num_outputs = grad_weight_OI.memory.size(0);
  const std::int64_t num_inputs = grad_weight_OI.memory.size(1);
  with_float_or_bf16(x_TI.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    kernels::gemm(kernels::Gemm<T, float>{
        .rows = num_outputs,
        .columns = num_inputs,
        .depth = num_rows(grad_pre_TO),
        .a = {data_or_null<T>(grad_pre_TO), num_outputs, MatrixLayout::kColumns},
        .b = {data_or_null<T>(x_TI), num_inputs},
        .result = grad_weight_OI.is_accumulated ? kernels::GemmResult::kAdd : kernels::GemmResult::kWrite,
        .out = data_or_null<float>(grad_weight_OI.memory),
        .out_stride = num_inputs});
  });
}

void layer_grad_x(const at::Tensor& grad_pre_TO, const at::Tensor& weight_OI, GradX mode, const at::Tensor& grad_x_TI) {
  if (uses_gpu_kernels(grad_x_TI)) return gpu::layer_grad_x(grad_pre_TO, weight_OI, mode, grad_x_TI);
  const at::Tensor contiguous_OI = weight_OI.contiguous();
  const std::int64_t num_outputs = weight_OI.size(0);
  const std::int64_t num_inputs = weight_OI.size(1);
  with_float_or_bf16(grad_x_TI.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    kernels::Gemm<T, T> gemm = {.rows = num_rows(grad_x_TI),
                                .columns = num_inputs,
                                .depth = num_outputs,
                                .a = {data_or_null<T>(grad_pre_TO), num_outputs},
                                .result = mode == GradX::kAdd ? kernels::GemmResult::kAdd : kernels::GemmResult::kWrite,
                                .out = data_or_null<T>(grad_x_TI),
                                .out_stride = num_inputs};
    set_weights(gemm, {data_or_null<float>(contiguous_OI), num_inputs});
    kernels::gemm(gemm);
  });
}

}  // namespace edgewise
