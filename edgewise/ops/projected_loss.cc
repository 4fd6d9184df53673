// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/projected_loss.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include "edgewise/base/profile.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/function_state.h"
#include "edgewise/ops/loss_arguments.h"
#include "edgewise/ops/loss_tiles.h"

namespace edgewise {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

struct Problem {
  at::Tensor labels_T;
  kernels::SmoothedTarget target;
  bool wants_gradients;
  std::int64_t* correct;  // set by the forward pass
};

LossTensors tensors_of(const at::Tensor& state_TM, const at::Tensor& weight_CM, const std::optional<at::Tensor>& bias_C,
                       const Problem& problem) {
  LossTensors tensors = {.state_TM = state_TM.contiguous(),
                         .weight_CM = weight_CM.contiguous(),
                         .bias_C = bias_C ? bias_C->contiguous() : at::Tensor(),
                         .labels_T = problem.labels_T.contiguous(),
                         .grad_state_TM = {},
                         .grad_weight_CM = {},
                         .grad_bias_C = {}};
  if (!problem.wants_gradients) return tensors;
  if (state_TM.requires_grad()) tensors.grad_state_TM = at::empty(state_TM.sizes(), state_TM.options());
  if (weight_CM.requires_grad()) tensors.grad_weight_CM = at::empty(weight_CM.sizes(), weight_CM.options());
  if (bias_C && bias_C->requires_grad()) tensors.grad_bias_C = at::zeros(bias_C->sizes(), bias_C->options());
  return tensors;
}

// Gradients are ready when the loss is.
struct ProjectAndLose : Function<ProjectAndLose> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& state_TM, const at::Tensor& weight_CM,
                            const std::optional<at::Tensor>& bias_C, const Problem& problem) {
    const TimedWork timed("loss");
    const LossTensors tensors = tensors_of(state_TM, weight_CM, bias_C, problem);
    const LossSums sums = run_loss_tiles(tensors, problem.target);
    *problem.correct = sums.correct;
    context->save_for_backward({tensors.grad_state_TM, tensors.grad_weight_CM, tensors.grad_bias_C});
    return at::full({}, sums.loss, state_TM.options().dtype(at::kFloat));
  }

  static variable_list backward(AutogradContext* context, const variable_list& grad_outputs) {
    const TimedWork timed("loss");
    check_differentiated_once("projected_loss");
    variable_list gradients = context->get_saved_variables();
    if (grad_outputs[0].item<float>() != 1.0f) {
      for (at::Tensor& gradient : gradients) {
        if (gradient.defined()) gradient = at::mul(gradient, grad_outputs[0].to(gradient.scalar_type()));
      }
    }
    gradients.emplace_back();
    return gradients;
  }
};

}  // namespace

ProjectedLoss projected_loss(const at::Tensor& state_TM, const at::Tensor& weight_CM, const at::Tensor& bias_C,
                             const at::Tensor& labels_T, const LossOptions& options) {
  check_dimensions("projected_loss", "state", state_TM, 2, "tokens, size");
  check_projection("projected_loss", "state", state_TM, weight_CM, bias_C);
  check_labels("projected_loss", labels_T, "logits", state_TM.size(0), weight_CM.size(0), options);
  if (state_TM.scalar_type() == at::kDouble) {
    return projected_loss_plain(state_TM, weight_CM, bias_C, labels_T, options);
  }
  ProjectedLoss result;
  const Problem problem = {labels_T, target_of(options, weight_CM.size(0)), c10::GradMode::is_enabled(),
                           &result.correct};
  result.loss_sum =
      ProjectAndLose::apply(state_TM, weight_CM, bias_C.defined() ? std::optional(bias_C) : std::nullopt, problem);
  return result;
}

}  // namespace edgewise
