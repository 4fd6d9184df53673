// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/add_norm.h"

#include <ATen/ops/empty_like.h>

#include <memory>

#include "edgewise/base/error.h"
#include "edgewise/base/profile.h"
#include "edgewise/kernels/norm/add_norm.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/definition.h"
#include "edgewise/ops/dropout_kernel.h"
#include "edgewise/ops/element_types.h"
#include "edgewise/ops/gpu_kernels.h"
#include "edgewise/ops/norm_arguments.h"
#include "edgewise/ops/norm_kernels.h"
#include "edgewise/ops/operation.h"

namespace edgewise {
namespace {

// Returns the gradient of y, from the gradient of the sum x + dropout(y).
at::Tensor summand_gradient(const at::Tensor& grad_sum_TM, const kernels::Dropout& dropout, at::ScalarType y_type) {
  const bool is_unchanged = dropout.rate == 0.0 && grad_sum_TM.scalar_type() == y_type;
  return is_unchanged ? grad_sum_TM : apply_dropout(grad_sum_TM, dropout, y_type);
}

// Inputs: x_TM, y_TM, gain_M, bias_M. Outputs: sum_TM, normed_TM.
class AddAndNorm : public Operation {
 public:
  explicit AddAndNorm(const NormSettings& settings) : settings_(settings) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    const ScopedTimer timer("norms");
    const at::Tensor gain_M = aligned_contiguous(inputs[2]);
    const NormResults results = norm_forward(settings_, aligned_contiguous(inputs[0]), aligned_contiguous(inputs[1]),
                                             gain_M, aligned_contiguous(inputs[3]));
    saved = {results.sum_TM, results.mean_T, results.deviation_T, gain_M};
    return {results.sum_TM, results.normed_TM};
  }

  Tensors backward(const BackwardPass& pass) override {
    const ScopedTimer timer("norms");
    check_differentiated_once("add_norm");
    const at::Tensor& sum_gradient_TM = pass.grad_outputs[0];
    const at::Tensor& normed_gradient_TM = pass.grad_outputs[1];
    const at::Tensor grad_sum_TM = aligned_contiguous(sum_gradient_TM);
    if (!normed_gradient_TM.defined()) {
      if (!grad_sum_TM.defined()) return {};
      return {grad_sum_TM, summand_gradient(grad_sum_TM, settings_.dropout, settings_.y_type)};
    }
    const NormResults results = {pass.saved[0], {}, pass.saved[1], pass.saved[2]};
    const NormGradients grads =
        norm_backward(settings_, results, pass.saved[3], grad_sum_TM, aligned_contiguous(normed_gradient_TM));
    return {grads.x_TM, grads.y_TM, grads.gain_M, grads.bias_M};
  }

  bool takes_undefined_gradients() const override { return true; }

 private:
  NormSettings settings_;
};

template <typename X, typename Y>
void add(const kernels::Dropout& dropout, const at::Tensor& x_TM, const at::Tensor& y_TM, const at::Tensor& sum_TM) {
  const kernels::AddDropout<X, Y> arguments = {.x = data_or_null<X>(x_TM),
                                               .y = data_or_null<Y>(y_TM),
                                               .sum = data_or_null<X>(sum_TM),
                                               .count = x_TM.numel(),
                                               .dropout = dropout};
  call_kernel<X>(x_TM, [&](auto... stream) { kernels::add_dropout(arguments, stream...); });
}

// Inputs: x_TM, y_TM.
class Add : public Operation {
 public:
  Add(const kernels::Dropout& dropout, at::ScalarType y_type) : dropout_(dropout), y_type_(y_type) {}

  Tensors forward(const Tensors& inputs, Tensors& /*saved*/) override {
    const ScopedTimer timer("residual sums");
    const at::Tensor x = aligned_contiguous(inputs[0]);
    const at::Tensor y = aligned_contiguous(inputs[1]);
    const at::Tensor sum_TM = at::empty_like(x);
    if (x.scalar_type() == at::kDouble) {
      add<double, double>(dropout_, x, y, sum_TM);
    } else if (x.scalar_type() == at::kBFloat16) {
      add<BFloat16, BFloat16>(dropout_, x, y, sum_TM);
    } else {
      with_float_or_bf16(y_type_, [&](auto zero) { add<float, decltype(zero)>(dropout_, x, y, sum_TM); });
    }
    return {sum_TM};
  }

  Tensors backward(const BackwardPass& pass) override {
    const ScopedTimer timer("residual sums");
    check_differentiated_once("add_dropout");
    const at::Tensor grad_sum_TM = aligned_contiguous(pass.grad_outputs[0]);
    return {grad_sum_TM, summand_gradient(grad_sum_TM, dropout_, y_type_)};
  }

 private:
  kernels::Dropout dropout_;
  at::ScalarType y_type_;
};

}  // namespace

AddNorm add_norm(const at::Tensor& x_TM, const at::Tensor& y_TM, const at::Tensor& gain_M, const at::Tensor& bias_M,
                 const AddNormOptions& options) {
  if (!y_TM.defined()) {
    return {x_TM, normalise(x_TM, gain_M, bias_M, options.kind, options.epsilon, options.type)};
  }
  check_summands("add_norm", x_TM, y_TM, options.dropout);
  check_norm("add_norm", x_TM, gain_M, bias_M, options);
  if (uses_definition(x_TM, kernels::can_add_norm(x_TM.size(-1)))) {
    return add_norm_plain(x_TM, y_TM, gain_M, bias_M, options);
  }
  const Tensors results =
      apply_operation(std::make_unique<AddAndNorm>(norm_settings(x_TM, y_TM, options)), {x_TM, y_TM, gain_M, bias_M});
  return {results[0], results[1]};
}

at::Tensor add_dropout(const at::Tensor& x_TM, const at::Tensor& y_TM, double rate, DropoutKey key) {
  check_summands("add_dropout", x_TM, y_TM, rate);
  check(y_TM.defined(), "add_dropout: y is undefined, but a tensor is needed");
  if (uses_definition(x_TM, /*has_gpu_kernel=*/true)) return add_dropout_plain(x_TM, y_TM, rate, key);
  return apply_one<Add>({x_TM, y_TM}, dropout_rule(rate, key), y_TM.scalar_type());
}

}  // namespace edgewise
