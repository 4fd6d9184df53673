// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/norm.h"

#include "edgewise/base/profile.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/function_state.h"
#include "edgewise/ops/norm_arguments.h"
#include "edgewise/ops/norm_passes.h"

namespace edgewise {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Normalise : torch::autograd::Function<Normalise> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x_TM, const at::Tensor& gain_M,
                            const at::Tensor& bias_M, const NormPass& pass) {
    const TimedWork timed("norms");
    const at::Tensor gain = gain_M.contiguous();
    const NormResults results = norm_forward(pass, x_TM.contiguous(), {}, gain, bias_M.contiguous());
    context->save_for_backward({results.sum_TM, results.mean_T, results.deviation_T, gain});
    save_state(context, pass);
    return results.normed_TM;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grad_outputs) {
    const TimedWork timed("norms");
    check_differentiated_once("normalise");
    const variable_list saved = context->get_saved_variables();
    const NormResults results = {saved[0], {}, saved[1], saved[2]};
    const NormGradients grads =
        norm_backward(saved_state<NormPass>(context), results, saved[3], {}, grad_outputs[0].contiguous());
    return {grads.x_TM, grads.gain_M, grads.bias_M, at::Tensor()};
  }
};

}  // namespace

at::Tensor normalise(const at::Tensor& x_TM, const at::Tensor& gain_M, const at::Tensor& bias_M, NormKind kind,
                     double epsilon, std::optional<at::ScalarType> type) {
  const AddNormOptions options = {.kind = kind, .epsilon = epsilon, .type = type};
  check_summands("normalise", x_TM, {}, options.dropout);
  check_norm("normalise", x_TM, gain_M, bias_M, options);
  return Normalise::apply(x_TM, gain_M, bias_M, norm_pass(x_TM, {}, options));
}

}  // namespace edgewise
