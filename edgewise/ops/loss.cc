// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/where.h>
#include <ATen/ops/xlogy.h>
#include <ATen/ops/zeros_like.h>

#include <string_view>

#include "edgewise/ops/checks.h"
#include "edgewise/ops/function_state.h"
#include "edgewise/ops/loss_arguments.h"

namespace edgewise {
namespace {

using kernels::SmoothedTarget;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// [T], the sum of a row but for one column (all, if that is negative). Not the whole sum less the column, which
// might be infinite.
at::Tensor sum_without(const at::Tensor& x_TC, std::int64_t column) {
  if (column < 0) return x_TC.sum(1);
  return x_TC.narrow(1, 0, column).sum(1) + x_TC.narrow(1, column + 1, x_TC.size(1) - column - 1).sum(1);
}

struct SmoothedLoss : Function<SmoothedLoss> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& logits_TC, const at::Tensor& labels_T,
                            const SmoothedTarget& target) {
    const at::Tensor log_probability_TC = at::log_softmax(logits_TC, 1);
    const at::Tensor of_label_T = log_probability_TC.gather(1, labels_T.unsqueeze(1)).squeeze(1);
    at::Tensor loss_T = target.entropy - target.label * of_label_T;
    if (target.share > 0) {
      loss_T -= target.share * (sum_without(log_probability_TC, target.ignored) - of_label_T);
    }
    context->save_for_backward({log_probability_TC, labels_T});
    save_state(context, target);
    return loss_T.masked_fill_(labels_T == target.ignored, 0).sum();
  }

  // The gradient of a token's loss is the model's probabilities less the target's.
  static variable_list backward(AutogradContext* context, const variable_list& grad_outputs) {
    check_differentiated_once("smoothed_loss");
    const variable_list saved = context->get_saved_variables();
    const at::Tensor label_T1 = saved[1].unsqueeze(1);
    const SmoothedTarget& target = saved_state<SmoothedTarget>(context);
    at::Tensor grad_TC = saved[0].exp();
    if (target.share > 0) {
      grad_TC.sub_(target.share);
      if (target.ignored >= 0) grad_TC.select(1, target.ignored).add_(target.share);
    }
    grad_TC.scatter_add_(1, label_T1, at::full_like(label_T1, target.share - target.label, grad_TC.options()));
    grad_TC.mul_(at::where(label_T1 == target.ignored, at::zeros_like(grad_outputs[0]), grad_outputs[0]));
    return {grad_TC, at::Tensor(), at::Tensor()};
  }
};

void check_arguments(std::string_view function, const at::Tensor& logits_TC, const at::Tensor& labels_T,
                     const LossOptions& options) {
  check_computable(function, "logits", logits_TC);
  check_dimensions(function, "logits", logits_TC, 2, "tokens, words");
  check_labels(function, labels_T, "logits", logits_TC.size(0), logits_TC.size(1), options);
}

}  // namespace

at::Tensor smoothed_loss(const at::Tensor& logits_TC, const at::Tensor& labels_T, const LossOptions& options) {
  check_arguments("smoothed_loss", logits_TC, labels_T, options);
  return SmoothedLoss::apply(logits_TC, labels_T, target_of(options, logits_TC.size(1)));
}

at::Tensor smoothed_loss_plain(const at::Tensor& logits_TC, const at::Tensor& labels_T, const LossOptions& options) {
  check_arguments("smoothed_loss_plain", logits_TC, labels_T, options);
  const SmoothedTarget target = target_of(options, logits_TC.size(1));
  at::Tensor target_TC = at::full_like(logits_TC.detach(), target.share);
  if (target.ignored >= 0) target_TC.select(1, target.ignored).fill_(0);
  target_TC.scatter_(1, labels_T.unsqueeze(1), target.label);
  target_TC.masked_fill_((labels_T == target.ignored).unsqueeze(1), 0);
  return (at::xlogy(target_TC, target_TC) - target_TC * at::log_softmax(logits_TC, 1)).sum();
}

std::int64_t count_correct(const at::Tensor& logits_TC, const at::Tensor& labels_T, const LossOptions& options) {
  check_arguments("count_correct", logits_TC, labels_T, options);
  return ((logits_TC.argmax(1) == labels_T) & (labels_T != options.ignored)).sum().item<std::int64_t>();
}

}  // namespace edgewise
