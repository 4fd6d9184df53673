// SPDX-License-Identifier: Apache-2.0
#include <ATen/TensorOperators.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/stack.h>

#include "edgewise/ops/checks.h"
#include "edgewise/ops/index_tensor.h"
#include "edgewise/ops/linear.h"
#include "edgewise/ops/projected_loss.h"

namespace edgewise {
namespace {

at::Tensor logits(const at::Tensor& state_TM, const at::Tensor& weight_CM, const at::Tensor& bias_C) {
  const at::ScalarType type = parameter_type(state_TM);
  const at::Tensor weight_as_used_CM = weight_CM.to(state_TM.scalar_type()).to(type);
  return linear_plain(state_TM.to(type), weight_as_used_CM, bias_C);
}

// Returns KL(p || q) for each pair: [P].
at::Tensor divergence(const at::Tensor& log_p_PC, const at::Tensor& log_q_PC) {
  return (log_p_PC.exp() * (log_p_PC - log_q_PC)).sum(1);
}

// Takes the labels on the device of the logits, and reads no number from there.
BatchLoss batch_loss(const at::Tensor& loss, const at::Tensor& logits_TC, const at::Tensor& labels_T,
                     const LossOptions& options) {
  const at::Tensor correct = find_correct(logits_TC, labels_T, options).sum();
  return {.objective = loss,
          .counts = {.tokens = labels_T.size(0)},
          .loss_and_correct = at::stack({loss.detach().to(at::kDouble), correct.to(at::kDouble)})};
}

}  // namespace

BatchLoss projected_loss_plain(const at::Tensor& state_TM, const at::Tensor& weight_CM, const at::Tensor& bias_C,
                               const at::Tensor& labels, const LossOptions& options) {
  const at::Tensor labels_T = copy_to_device(labels, state_TM.device());
  const at::Tensor logits_TC = logits(state_TM, weight_CM, bias_C);
  return batch_loss(smoothed_loss_in_aten(logits_TC, labels_T, options), logits_TC, labels_T, options);
}

BatchLoss projected_rdrop_loss_plain(const at::Tensor& state_TM, const at::Tensor& weight_CM, const at::Tensor& bias_C,
                                     const at::Tensor& labels, double weight, const LossOptions& options) {
  const at::Tensor labels_T = copy_to_device(labels, state_TM.device());
  const at::Tensor logits_TC = logits(state_TM, weight_CM, bias_C);
  const at::Tensor log_probability_TC = at::log_softmax(logits_TC, 1);
  const std::int64_t num_pairs = labels_T.size(0) / 2;
  const at::Tensor log_p_PC = log_probability_TC.narrow(0, 0, num_pairs);
  const at::Tensor log_q_PC = log_probability_TC.narrow(0, num_pairs, num_pairs);
  const at::Tensor divergence_P = (divergence(log_p_PC, log_q_PC) + divergence(log_q_PC, log_p_PC)) / 2;
  const at::Tensor is_ignored_P = labels_T.narrow(0, 0, num_pairs) == options.ignored;
  return batch_loss(
      smoothed_loss_in_aten(logits_TC, labels_T, options) + weight * divergence_P.masked_fill(is_ignored_P, 0).sum(),
      logits_TC, labels_T, options);
}

}  // namespace edgewise
