// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/add_norm.h"

#include <ATen/ops/empty_like.h>

#include <type_traits>

#include "edgewise/base/error.h"
#include "edgewise/base/profile.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/dropped.h"
#include "edgewise/ops/function_state.h"
#include "edgewise/ops/norm_arguments.h"
#include "edgewise/ops/norm_passes.h"

namespace edgewise {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The gradient of y, given that of x + dropout(y).
at::Tensor summand_gradient(const at::Tensor& grad_sum_TM, const kernels::Dropout& dropout, at::ScalarType y_type) {
  const bool is_the_same = dropout.rate == 0.0 && grad_sum_TM.scalar_type() == y_type;
  return is_the_same ? grad_sum_TM : dropped(grad_sum_TM, dropout, y_type);
}

struct AddAndNorm : torch::autograd::Function<AddAndNorm> {
  static variable_list forward(AutogradContext* context, const at::Tensor& x_TM, const at::Tensor& y_TM,
                               const at::Tensor& gain_M, const at::Tensor& bias_M, const NormPass& pass) {
    const TimedWork timed("norms");
    const at::Tensor gain = gain_M.contiguous();
    const NormResults results = norm_forward(pass, x_TM.contiguous(), y_TM.contiguous(), gain, bias_M.contiguous());
    context->set_materialize_grads(false);
    context->save_for_backward({results.sum_TM, results.mean_T, results.deviation_T, gain});
    save_state(context, pass);
    return {results.sum_TM, results.normed_TM};
  }

  static variable_list backward(AutogradContext* context, const variable_list& grad_outputs) {
    const TimedWork timed("norms");
    check_differentiated_once("add_norm");
    const at::Tensor grad_sum_TM = grad_outputs[0].defined() ? grad_outputs[0].contiguous() : at::Tensor();
    const NormPass& pass = saved_state<NormPass>(context);
    if (!grad_outputs[1].defined()) {
      if (!grad_sum_TM.defined()) return variable_list(5);
      return {grad_sum_TM, summand_gradient(grad_sum_TM, pass.dropout, pass.y_type), {}, {}, {}};
    }
    const variable_list saved = context->get_saved_variables();
    const NormResults results = {saved[0], {}, saved[1], saved[2]};
    const NormGradients grads = norm_backward(pass, results, saved[3], grad_sum_TM, grad_outputs[1].contiguous());
    return {grads.x_TM, grads.y_TM, grads.gain_M, grads.bias_M, at::Tensor()};
  }
};

struct SumRule {
  kernels::Dropout dropout;
  at::ScalarType y_type;
};

template <typename X, typename Y>
void add(const kernels::Dropout& dropout, const at::Tensor& x_TM, const at::Tensor& y_TM, const at::Tensor& sum_TM) {
  kernels::add_dropout(kernels::AddDropout<X, Y>{.x = data_or_null<X>(x_TM),
                                                 .y = data_or_null<Y>(y_TM),
                                                 .sum = data_or_null<X>(sum_TM),
                                                 .count = x_TM.numel(),
                                                 .dropout = dropout});
}

struct Add : torch::autograd::Function<Add> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x_TM, const at::Tensor& y_TM,
                            const SumRule& rule) {
    const TimedWork timed("residual sums");
    const at::Tensor x = x_TM.contiguous();
    const at::Tensor y = y_TM.contiguous();
    const at::Tensor sum_TM = at::empty_like(x);
    if (x.scalar_type() == at::kDouble) {
      add<double, double>(rule.dropout, x, y, sum_TM);
    } else if (x.scalar_type() == at::kBFloat16) {
      add<BFloat16, BFloat16>(rule.dropout, x, y, sum_TM);
    } else {
      with_narrow_type(rule.y_type, [&](auto zero) { add<float, decltype(zero)>(rule.dropout, x, y, sum_TM); });
    }
    save_state(context, rule);
    return sum_TM;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grad_outputs) {
    const TimedWork timed("residual sums");
    check_differentiated_once("add_dropout");
    const SumRule& rule = saved_state<SumRule>(context);
    const at::Tensor grad_sum_TM = grad_outputs[0].contiguous();
    return {grad_sum_TM, summand_gradient(grad_sum_TM, rule.dropout, rule.y_type), at::Tensor()};
  }
};

}  // namespace

AddNorm add_norm(const at::Tensor& x_TM, const at::Tensor& y_TM, const at::Tensor& gain_M, const at::Tensor& bias_M,
                 const AddNormOptions& options) {
  if (!y_TM.defined()) {
    return {x_TM, normalise(x_TM, gain_M, bias_M, options.kind, options.epsilon, options.type)};
  }
  check_summands("add_norm", x_TM, y_TM, options.dropout);
  check_norm("add_norm", x_TM, gain_M, bias_M, options);
  const variable_list results = AddAndNorm::apply(x_TM, y_TM, gain_M, bias_M, norm_pass(x_TM, y_TM, options));
  return {results[0], results[1]};
}

at::Tensor add_dropout(const at::Tensor& x_TM, const at::Tensor& y_TM, double rate, DropoutKey key) {
  check_summands("add_dropout", x_TM, y_TM, rate);
  check(y_TM.defined(), "add_dropout: y is undefined, but a tensor is needed");
  return Add::apply(x_TM, y_TM, SumRule{{rate, key.seed, key.stream}, y_TM.scalar_type()});
}

}  // namespace edgewise
