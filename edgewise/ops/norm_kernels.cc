// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/norm_kernels.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <type_traits>

#include "edgewise/kernels/norm/add_norm.h"
#include "edgewise/ops/dropout_kernel.h"
#include "edgewise/ops/element_types.h"
#include "edgewise/ops/gpu_kernels.h"
#include "edgewise/options/layer_kinds.h"

namespace edgewise {
namespace {

// Calls fn(X{}, Y{}, N{}) with the types of x, y and normed.
template <class Fn>
void with_types(const NormSettings& settings, const at::Tensor& x_TM, Fn fn) {
  if (x_TM.scalar_type() == at::kDouble) return fn(double{}, double{}, double{});
  with_float_or_bf16(x_TM.scalar_type(), [&](auto x) {
    with_float_or_bf16(settings.y_type, [&](auto y) {
      constexpr bool kFits = std::is_same_v<decltype(x), float> || std::is_same_v<decltype(y), BFloat16>;
      if constexpr (kFits) with_float_or_bf16(settings.type, [&](auto normed) { fn(x, y, normed); });
    });
  });
}

template <typename X, typename Y, typename N>
void differentiate_on_gpu(const kernels::AddNormBackward<X, Y, N>& p, const at::Tensor& gain_M) {
  const at::Tensor workspace = at::empty({kernels::add_norm_backward_workspace(p.num_rows, p.size)}, gain_M.options());
  call_gpu_kernel(gain_M,
                  [&](device::Stream stream) { kernels::add_norm_backward(p, workspace.data_ptr<float>(), stream); });
}

}  // namespace

NormSettings norm_settings(const at::Tensor& x_TM, const at::Tensor& y_TM, const AddNormOptions& options) {
  return {.formula = norm_formula<kernels::NormFormula>(options.kind, x_TM.size(-1), options.epsilon),
          .dropout = dropout_rule(options.dropout, options.dropout_key),
          .type = options.type.value_or(x_TM.scalar_type()),
          .y_type = (y_TM.defined() ? y_TM : x_TM).scalar_type()};
}

NormResults norm_forward(const NormSettings& settings, const at::Tensor& x_TM, const at::Tensor& y_TM,
                         const at::Tensor& gain_M, const at::Tensor& bias_M) {
  NormResults results = {.sum_TM = y_TM.defined() ? at::empty_like(x_TM) : x_TM,
                         .normed_TM = at::empty_like(x_TM, settings.type),
                         .mean_T = at::empty({num_rows(x_TM)}, gain_M.options()),
                         .deviation_T = at::empty({num_rows(x_TM)}, gain_M.options())};
  with_types(settings, x_TM, [&](auto x, auto y, auto normed) {
    using X = decltype(x);
    using A = kernels::AccumulatorType<X>;
    const kernels::AddNormForward<X, decltype(y), decltype(normed)> arguments = {
        .x = data_or_null<X>(x_TM),
        .y = data_or_null<decltype(y)>(y_TM),
        .gain = data_or_null<A>(gain_M),
        .bias = data_or_null<A>(bias_M),
        .sum = data_or_null<X>(results.sum_TM),
        .normed = data_or_null<decltype(normed)>(results.normed_TM),
        .mean = data_or_null<A>(results.mean_T),
        .deviation = data_or_null<A>(results.deviation_T),
        .num_rows = num_rows(x_TM),
        .size = x_TM.size(-1),
        .formula = settings.formula,
        .dropout = settings.dropout,
    };
    call_kernel<X>(x_TM, [&](auto... stream) { kernels::add_norm_forward(arguments, stream...); });
  });
  return results;
}

NormGradients norm_backward(const NormSettings& settings, const NormResults& results, const at::Tensor& gain_M,
                            const at::Tensor& grad_sum_TM, const at::Tensor& grad_normed_TM) {
  const at::Tensor& sum_TM = results.sum_TM;
  const bool y_differs = settings.dropout.rate > 0.0 || settings.y_type != sum_TM.scalar_type();
  NormGradients grads = {.x_TM = at::empty_like(sum_TM),
                         .y_TM = y_differs ? at::empty_like(sum_TM, settings.y_type) : at::Tensor(),
                         .gain_M = at::empty_like(gain_M),
                         .bias_M = at::empty_like(gain_M)};
  with_types(settings, sum_TM, [&](auto x, auto y, auto normed) {
    using X = decltype(x);
    using A = kernels::AccumulatorType<X>;
    const kernels::AddNormBackward<X, decltype(y), decltype(normed)> arguments = {
        .sum = data_or_null<X>(sum_TM),
        .gain = data_or_null<A>(gain_M),
        .mean = data_or_null<A>(results.mean_T),
        .deviation = data_or_null<A>(results.deviation_T),
        .grad_sum = data_or_null<X>(grad_sum_TM),
        .grad_normed = data_or_null<decltype(normed)>(grad_normed_TM),
        .grad_x = data_or_null<X>(grads.x_TM),
        .grad_y = data_or_null<decltype(y)>(grads.y_TM),
        .grad_gain = data_or_null<A>(grads.gain_M),
        .grad_bias = data_or_null<A>(grads.bias_M),
        .num_rows = num_rows(sum_TM),
        .size = sum_TM.size(-1),
        .formula = settings.formula,
        .dropout = settings.dropout,
    };
    if constexpr (!std::is_same_v<X, double>) {
      if (uses_gpu_kernels(sum_TM)) return differentiate_on_gpu(arguments, gain_M);
    }
    kernels::add_norm_backward(arguments);
  });
  if (!y_differs) grads.y_TM = grads.x_TM;
  return grads;
}

}  // namespace edgewise
