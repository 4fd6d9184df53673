// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/projected_loss.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <vector>

#include "edgewise/base/error.h"
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
  LossRule rule;
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
    const LossSums sums = run_loss_tiles(tensors, problem.rule);
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

ProjectedLoss run(const at::Tensor& state_TM, const at::Tensor& weight_CM, const at::Tensor& bias_C,
                  const at::Tensor& labels_T, const LossRule& rule) {
  ProjectedLoss result;
  const Problem problem = {labels_T, rule, c10::GradMode::is_enabled(), &result.correct};
  result.loss_sum =
      ProjectAndLose::apply(state_TM, weight_CM, bias_C.defined() ? std::optional(bias_C) : std::nullopt, problem);
  return result;
}

void check_arguments(const char* function, const at::Tensor& state_TM, const at::Tensor& weight_CM,
                     const at::Tensor& bias_C, const at::Tensor& labels_T, const LossOptions& options) {
  check_dimensions(function, "state", state_TM, 2, "tokens, size");
  check_projection(function, "state", state_TM, weight_CM, bias_C);
  check_labels(function, labels_T, "logits", state_TM.size(0), weight_CM.size(0), options);
}

void check_pairs(double weight, const at::Tensor& labels_T) {
  check(weight >= 0, "projected_rdrop_loss: weight is {}, needs 0 or more", weight);
  check(labels_T.size(0) % 2 == 0, "projected_rdrop_loss: labels are {}, needs an even number: two passes' tokens",
        labels_T.size(0));
  const std::vector<at::Tensor> halves = labels_T.chunk(2);
  check(halves.size() < 2 || halves[0].equal(halves[1]),
        "projected_rdrop_loss: labels of the second half differ from those of the first, needs the same tokens twice");
}

}  // namespace

ProjectedLoss projected_loss(const at::Tensor& state_TM, const at::Tensor& weight_CM, const at::Tensor& bias_C,
                             const at::Tensor& labels_T, const LossOptions& options) {
  check_arguments("projected_loss", state_TM, weight_CM, bias_C, labels_T, options);
  if (state_TM.scalar_type() == at::kDouble) {
    return projected_loss_plain(state_TM, weight_CM, bias_C, labels_T, options);
  }
  return run(state_TM, weight_CM, bias_C, labels_T, {.target = target_of(options, weight_CM.size(0))});
}

ProjectedLoss projected_rdrop_loss(const at::Tensor& state_TM, const at::Tensor& weight_CM, const at::Tensor& bias_C,
                                   const at::Tensor& labels_T, double weight, const LossOptions& options) {
  check_arguments("projected_rdrop_loss", state_TM, weight_CM, bias_C, labels_T, options);
  check_pairs(weight, labels_T);
  if (state_TM.scalar_type() == at::kDouble) {
    return projected_rdrop_loss_plain(state_TM, weight_CM, bias_C, labels_T, weight, options);
  }
  return run(state_TM, weight_CM, bias_C, labels_T,
             {.target = target_of(options, weight_CM.size(0)), .pair_weight = static_cast<float>(weight)});
}

}  // namespace edgewise
