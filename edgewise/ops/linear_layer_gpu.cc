// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/linear_layer_gpu.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "edgewise/base/error.h"
#include "edgewise/kernels/gemm/activation.h"
#include "edgewise/kernels/gemm/linear_gradient.h"
#include "edgewise/ops/dropout_kernel.h"
#include "edgewise/ops/element_types.h"
#include "edgewise/ops/gpu_kernels.h"
#include "edgewise/ops/matrix_product.h"

namespace edgewise::gpu {
namespace {

using kernels::GemmActivation;

GemmActivation activation_of(const LinearOptions& options) {
  if (!options.activation) return GemmActivation::kNone;
  switch (*options.activation) {
    case Activation::kRelu:
      return GemmActivation::kRelu;
    case Activation::kGelu:
      return GemmActivation::kGelu;
    case Activation::kSilu:
      return GemmActivation::kSilu;
  }
  fail("linear: activation is {}, needs one of enum_names", static_cast<int>(*options.activation));
}

/// Returns a contiguous [..., C] as a matrix [R, C].
at::Tensor as_matrix(const at::Tensor& x) {
  const at::IntArrayRef sizes = x.sizes();
  return x.view({c10::multiply_integers(sizes.slice(0, sizes.size() - 1)), sizes.back()});
}

/// Computes x Wᵀ + bias.
at::Tensor project(const at::Tensor& x_TI, const LinearWeights& parameters) {
  const at::Tensor weight_OI = parameters.weight_OI.to(x_TI.scalar_type());
  std::vector<std::int64_t> sizes = x_TI.sizes().vec();
  sizes.back() = weight_OI.size(0);
  at::Tensor y_TO = at::empty(sizes, x_TI.options());
  multiply_add_bias(as_matrix(x_TI), weight_OI.t(), parameters.bias_O, as_matrix(y_TO));
  return y_TO;
}

}  // namespace

LayerResult layer_forward(const at::Tensor& x_TI, const LinearWeights& parameters, const LinearOptions& options) {
  const at::Tensor y_TO = project(x_TI, parameters);
  const GemmActivation activation = activation_of(options);
  if (activation == GemmActivation::kNone && options.dropout == 0.0) return {y_TO, {}};
  const bool keeps_argument = activation == GemmActivation::kGelu || activation == GemmActivation::kSilu;
  const at::Tensor out_TO = keeps_argument ? at::empty_like(y_TO) : y_TO;
  with_float_or_bf16(y_TO.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    const kernels::ActivationForward<T> arguments = {.activation = activation,
                                                     .count = y_TO.numel(),
                                                     .x = data_or_null<T>(y_TO),
                                                     .out = data_or_null<T>(out_TO),
                                                     .dropout = dropout_rule(options.dropout, options.dropout_key)};
    call_gpu_kernel(y_TO, [&](device::Stream stream) { kernels::activate(arguments, stream); });
  });
  return {out_TO, options.activation ? y_TO : at::Tensor()};
}

at::Tensor layer_grad_preactivation(const at::Tensor& grad_out_TO, const at::Tensor& saved_TO,
                                    const LinearOptions& options, const at::Tensor& grad_bias_O) {
  const bool is_changed = options.activation || options.dropout > 0.0;
  if (!is_changed && !grad_bias_O.defined()) return grad_out_TO;
  const std::int64_t rows = num_rows(grad_out_TO);
  const std::int64_t columns = grad_out_TO.size(-1);
  at::Tensor grad_pre_TO = is_changed ? at::empty_like(grad_out_TO) : grad_out_TO;
  const at::Tensor workspace = grad_bias_O.defined()
                                   ? at::empty({kernels::gradient_workspace_size(rows, columns)}, grad_bias_O.options())
                                   : at::Tensor();
  with_float_or_bf16(grad_out_TO.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    kernels::ActivationGradient<T> arguments;
    arguments.activation = activation_of(options);
    arguments.rows = rows;
    arguments.columns = columns;
    arguments.grad_out = data_or_null<T>(grad_out_TO);
    arguments.saved = data_or_null<T>(saved_TO);
    arguments.dropout = dropout_rule(options.dropout, options.dropout_key);
    arguments.grad_x = is_changed ? data_or_null<T>(grad_pre_TO) : nullptr;
    arguments.grad_bias = data_or_null<float>(grad_bias_O);
    call_gpu_kernel(grad_out_TO, [&](device::Stream stream) {
      kernels::activation_gradient(arguments, data_or_null<float>(workspace), stream);
    });
  });
  return grad_pre_TO;
}

void layer_grad_weight(const at::Tensor& grad_pre_TO, const at::Tensor& x_TI, const GradientBuffer& grad_weight_OI) {
  multiply(as_matrix(grad_pre_TO).t(), as_matrix(x_TI),
           grad_weight_OI.is_accumulated ? ProductResult::kAdd : ProductResult::kWrite, grad_weight_OI.memory);
}

void layer_grad_x(const at::Tensor& grad_pre_TO, const at::Tensor& weight_OI, GradX mode, const at::Tensor& grad_x_TI) {
  multiply(as_matrix(grad_pre_TO), weight_OI.to(grad_x_TI.scalar_type()),
           mode == GradX::kAdd ? ProductResult::kAdd : ProductResult::kWrite, as_matrix(grad_x_TI));
}

}  // namespace edgewise::gpu
