// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/projected_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/profile.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/device_copies.h"
#include "edgewise/ops/linear.h"
#include "edgewise/ops/loss_tiles.h"
#include "edgewise/ops/operation.h"

namespace edgewise {
namespace {

struct Problem {
  at::Tensor labels_T;
  LossRule rule;
  bool needs_gradients;
  BatchLoss* result;  // the forward pass sets `counts` or, on a GPU, `loss_and_correct`
};

LossTensors make_tensors(const at::Tensor& state_TM, const at::Tensor& weight_CM, const at::Tensor& bias_C,
                         const Problem& problem) {
  LossTensors tensors = {.state_TM = state_TM.contiguous(),
                         .weight_CM = weight_CM.contiguous(),
                         .bias_C = bias_C.defined() ? bias_C.contiguous() : at::Tensor(),
                         .labels_T = copy_to_device(problem.labels_T.contiguous(), state_TM.device())};
  if (!problem.needs_gradients) return tensors;
  if (state_TM.requires_grad()) tensors.grad_state_TM = at::empty(state_TM.sizes(), state_TM.options());
  if (weight_CM.requires_grad()) tensors.grad_weight_CM = at::empty(weight_CM.sizes(), weight_CM.options());
  if (bias_C.defined() && bias_C.requires_grad()) {
    tensors.grad_bias_C = at::zeros(bias_C.sizes(), bias_C.options());
  }
  return tensors;
}

/// Inputs: state_TM, weight_CM, bias_C. The forward pass computes the gradients too; backward only scales them.
class ProjectedLoss : public Operation {
 public:
  explicit ProjectedLoss(Problem problem) : problem_(std::move(problem)) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    const ScopedTimer timer("loss");
    const LossTensors tensors = make_tensors(inputs[0], inputs[1], inputs[2], problem_);
    saved = {tensors.grad_state_TM, tensors.grad_weight_CM, tensors.grad_bias_C};
    BatchLoss& result = *problem_.result;
    if (backend_of(inputs[0]) == Backend::kGpu) {
      result.counts.tokens = count_tokens(inputs[0].size(0), problem_.rule.consistency);
      result.loss_and_correct = run_loss_tiles_on_gpu(tensors, problem_.rule);
      const at::Tensor loss = result.loss_and_correct[0];
      const at::Tensor objective = loss.to(at::kFloat);
      loss.copy_(objective);
      return {objective};
    }
    result.counts = run_loss_tiles(tensors, problem_.rule);
    return {at::full({}, result.counts.loss, inputs[0].options().dtype(at::kFloat))};
  }

  Tensors backward(const BackwardPass& pass) override {
    const ScopedTimer timer("loss");
    check_differentiated_once("projected_loss");
    const at::Tensor& grad_loss = pass.grad_outputs[0];
    Tensors gradients = pass.saved;
    const bool is_on_gpu = backend_of(grad_loss) == Backend::kGpu;  // then reading the number would wait for the GPU
    if (is_on_gpu || grad_loss.item<float>() != 1.0f) {
      for (at::Tensor& gradient : gradients) {
        if (gradient.defined()) gradient = at::mul(gradient, grad_loss.to(gradient.scalar_type()));
      }
    }
    return gradients;
  }

 private:
  Problem problem_;
};

BatchLoss run(const at::Tensor& state_TM, const at::Tensor& weight_CM, const at::Tensor& bias_C,
              const at::Tensor& labels_T, const LossRule& rule) {
  BatchLoss result;
  const Problem problem = {labels_T, rule, c10::GradMode::is_enabled(), &result};
  result.objective = apply_one<ProjectedLoss>({state_TM, weight_CM, bias_C}, problem);
  // The loss is rounded to fp32 like the objective.
  if (!result.loss_and_correct.defined()) result.counts.loss = result.objective.item<double>();
  return result;
}

void check_arguments(const char* function, const at::Tensor& state_TM, const at::Tensor& weight_CM,
                     const at::Tensor& bias_C, const at::Tensor& labels_T, const LossOptions& options) {
  check_dimensions(function, "state", state_TM, 2, "tokens, size");
  check_projection(function, "state", state_TM, weight_CM, bias_C);
  check_labels(function, labels_T, "logits", state_TM.size(0), weight_CM.size(0), options);
}

void check_repeated_labels(double weight, const at::Tensor& labels_T) {
  check(weight >= 0, "projected_consistency_loss: weight is {}, needs 0 or more", weight);
  check(labels_T.size(0) % 2 == 0,
        "projected_consistency_loss: labels are {}, needs an even number: two passes' tokens", labels_T.size(0));
  if (!labels_T.is_cpu()) return;  // reading from a device would wait for it
  const std::vector<at::Tensor> halves = labels_T.chunk(2);
  check(halves.size() < 2 || halves[0].equal(halves[1]),
        "projected_consistency_loss: labels of the second half differ from those of the first, needs the same tokens "
        "twice");
}

at::Tensor logits(const at::Tensor& state_TM, const at::Tensor& weight_CM, const at::Tensor& bias_C) {
  const at::ScalarType type = parameter_type(state_TM);
  const at::Tensor weight_as_used_CM = weight_CM.to(state_TM.scalar_type()).to(type);
  return linear_plain(state_TM.to(type), weight_as_used_CM, bias_C);
}

/// Returns KL(p || q) for each pair: [P].
at::Tensor divergence(const at::Tensor& log_p_PC, const at::Tensor& log_q_PC) {
  return (log_p_PC.exp() * (log_p_PC - log_q_PC)).sum(1);
}

/// Takes the labels on the device of the logits, and reads no number from there.
BatchLoss batch_loss(const at::Tensor& loss, const at::Tensor& logits_TC, const at::Tensor& labels_T,
                     const LossOptions& options) {
  const at::Tensor correct = find_correct(logits_TC, labels_T, options).sum();
  return {.objective = loss,
          .counts = {.tokens = labels_T.size(0)},
          .loss_and_correct = at::stack({loss.detach().to(at::kDouble), correct.to(at::kDouble)})};
}

}  // namespace

BatchLoss projected_loss(const at::Tensor& state_TM, const at::Tensor& weight_CM, const at::Tensor& bias_C,
                         const at::Tensor& labels_T, const LossOptions& options) {
  check_arguments("projected_loss", state_TM, weight_CM, bias_C, labels_T, options);
  if (state_TM.scalar_type() == at::kDouble || backend_of(state_TM) == Backend::kDefinition) {
    return projected_loss_plain(state_TM, weight_CM, bias_C, labels_T, options);
  }
  return run(state_TM, weight_CM, bias_C, labels_T, {.target = target_of(options, weight_CM.size(0))});
}

BatchLoss projected_consistency_loss(const at::Tensor& state_TM, const at::Tensor& weight_CM, const at::Tensor& bias_C,
                                     const at::Tensor& labels_T, const Consistency& consistency,
                                     const LossOptions& options) {
  check_arguments("projected_consistency_loss", state_TM, weight_CM, bias_C, labels_T, options);
  check_repeated_labels(consistency.weight, labels_T);
  if (state_TM.scalar_type() == at::kDouble || backend_of(state_TM) == Backend::kDefinition) {
    return projected_consistency_loss_plain(state_TM, weight_CM, bias_C, labels_T, consistency, options);
  }
  return run(state_TM, weight_CM, bias_C, labels_T,
             {.target = target_of(options, weight_CM.size(0)), .consistency = consistency});
}

BatchLoss projected_loss_plain(const at::Tensor& state_TM, const at::Tensor& weight_CM, const at::Tensor& bias_C,
                               const at::Tensor& labels, const LossOptions& options) {
  const at::Tensor labels_T = copy_to_device(labels, state_TM.device());
  const at::Tensor logits_TC = logits(state_TM, weight_CM, bias_C);
  return batch_loss(smoothed_loss_in_aten(logits_TC, labels_T, options), logits_TC, labels_T, options);
}

BatchLoss projected_consistency_loss_plain(const at::Tensor& state_TM, const at::Tensor& weight_CM,
                                           const at::Tensor& bias_C, const at::Tensor& labels,
                                           const Consistency& consistency, const LossOptions& options) {
  const at::Tensor labels_T = copy_to_device(labels, state_TM.device());
  const at::Tensor logits_TC = logits(state_TM, weight_CM, bias_C);
  const at::Tensor log_probability_TC = at::log_softmax(logits_TC, 1);
  const std::int64_t num_pairs = labels_T.size(0) / 2;
  const std::int64_t num_counted = count_tokens(labels_T.size(0), consistency);
  const at::Tensor log_p_PC = log_probability_TC.narrow(0, 0, num_pairs);
  const at::Tensor log_q_PC = log_probability_TC.narrow(0, num_pairs, num_pairs);
  at::Tensor divergence_P = divergence(log_p_PC, log_q_PC);
  if (consistency.kind == kernels::ConsistencyKind::kRDrop) {
    divergence_P = (divergence_P + divergence(log_q_PC, log_p_PC)) / 2;
  }
  const at::Tensor is_ignored_P = labels_T.narrow(0, 0, num_pairs) == options.ignored;
  const at::Tensor counted_logits = logits_TC.narrow(0, 0, num_counted);
  const at::Tensor counted_labels = labels_T.narrow(0, 0, num_counted);
  return batch_loss(smoothed_loss_in_aten(counted_logits, counted_labels, options) +
                        consistency.weight * divergence_P.masked_fill(is_ignored_P, 0).sum(),
                    counted_logits, counted_labels, options);
}

}  // namespace edgewise
