// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/where.h>
#include <ATen/ops/xlogy.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/device_copies.h"
#include "edgewise/ops/operation.h"

namespace edgewise {
namespace {

double x_log_x(double x) { return x == 0.0 ? 0.0 : x * std::log(x); }

using kernels::SmoothedTarget;

/// Sums each row without one column (with all columns if `column` is negative): [T]. Subtracting the column from the
/// whole sum would give NaN where the column is infinite.
at::Tensor sum_without(const at::Tensor& x_TC, std::int64_t column) {
  if (column < 0) return x_TC.sum(1);
  return x_TC.narrow(1, 0, column).sum(1) + x_TC.narrow(1, column + 1, x_TC.size(1) - column - 1).sum(1);
}

/// Inputs: logits_TC, labels_T.
class SmoothedLoss : public Operation {
 public:
  explicit SmoothedLoss(const SmoothedTarget& target) : target_(target) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    const at::Tensor& labels_T = inputs[1];
    const at::Tensor log_probability_TC = at::log_softmax(inputs[0], 1);
    const at::Tensor label_log_probability_T = log_probability_TC.gather(1, labels_T.unsqueeze(1)).squeeze(1);
    at::Tensor loss_T = target_.entropy - target_.label_probability * label_log_probability_T;
    if (target_.other_probability > 0) {
      loss_T -= target_.other_probability *
                (sum_without(log_probability_TC, target_.ignored_token) - label_log_probability_T);
    }
    saved = {log_probability_TC, labels_T};
    return {loss_T.masked_fill_(labels_T == target_.ignored_token, 0).sum()};
  }

  // The gradient of a row's loss is the model's probabilities minus the target's.
  Tensors backward(const BackwardPass& pass) override {
    check_differentiated_once("smoothed_loss");
    const at::Tensor label_T1 = pass.saved[1].unsqueeze(1);
    const at::Tensor& grad_loss = pass.grad_outputs[0];
    at::Tensor grad_TC = pass.saved[0].exp();
    if (target_.other_probability > 0) {
      grad_TC.sub_(target_.other_probability);
      if (target_.ignored_token >= 0) grad_TC.select(1, target_.ignored_token).add_(target_.other_probability);
    }
    grad_TC.scatter_add_(
        1, label_T1, at::full_like(label_T1, target_.other_probability - target_.label_probability, grad_TC.options()));
    grad_TC.mul_(at::where(label_T1 == target_.ignored_token, at::zeros_like(grad_loss), grad_loss));
    return {grad_TC};
  }

 private:
  SmoothedTarget target_;
};

/// Inputs: logits_TC, labels_T. The forward pass computes the gradient, too; backward only scales it.
class SmoothedLossOnGpu : public Operation {
 public:
  SmoothedLossOnGpu(const SmoothedTarget& target, bool needs_gradient)
      : target_(target), needs_gradient_(needs_gradient) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    const at::Tensor logits_TC = aligned_contiguous(inputs[0]);
    const at::Tensor labels_T = inputs[1].contiguous();
    const at::Tensor grad_TC = needs_gradient_ ? at::empty_like(logits_TC) : at::Tensor();
    const at::Tensor loss_T = at::empty(labels_T.sizes(), logits_TC.options());
    const at::Tensor is_correct_T = at::empty(labels_T.sizes(), labels_T.options().dtype(at::kBool));
    const kernels::SoftmaxLoss<float> arguments = {.rows = logits_TC.size(0),
                                                   .columns = logits_TC.size(1),
                                                   .logits = data_or_null<float>(logits_TC),  // read only
                                                   .labels = data_or_null<std::int64_t>(labels_T),
                                                   .target = target_,
                                                   .gradient = data_or_null<float>(grad_TC),
                                                   .loss = data_or_null<float>(loss_T),
                                                   .is_correct = data_or_null<bool>(is_correct_T)};
    call_kernel(logits_TC, [&](device::Stream stream) { kernels::softmax_loss(arguments, stream); });
    saved = {grad_TC};
    return {loss_T.sum()};
  }

  Tensors backward(const BackwardPass& pass) override {
    check_differentiated_once("smoothed_loss");
    return {at::mul(pass.saved[0], pass.grad_outputs[0])};
  }

 private:
  SmoothedTarget target_;
  bool needs_gradient_;
};

void check_arguments(std::string_view function, const at::Tensor& logits_TC, const at::Tensor& labels_T,
                     const LossOptions& options) {
  check_float_or_double(function, "logits", logits_TC);
  check_dimensions(function, "logits", logits_TC, 2, "tokens, words");
  check_labels(function, labels_T, "logits", logits_TC.size(0), logits_TC.size(1), options);
  check_same_device(function, "the tensor of labels", labels_T, "that of logits", logits_TC);
}

}  // namespace

kernels::SmoothedTarget target_of(const LossOptions& options, std::int64_t vocabulary_size) {
  const std::int64_t others = vocabulary_size - 1 - (options.ignored >= 0 ? 1 : 0);
  if (others <= 0) return {1.0, 0.0, 0.0, options.ignored};
  const double share = options.smoothing / static_cast<double>(others);
  return {1.0 - options.smoothing, share,
          x_log_x(1.0 - options.smoothing) + static_cast<double>(others) * x_log_x(share), options.ignored};
}

void check_labels(std::string_view function, const at::Tensor& labels_T, std::string_view rows_name,
                  std::int64_t num_tokens, std::int64_t vocabulary_size, const LossOptions& options) {
  check_dimensions(function, "labels", labels_T, 1, "tokens");
  check(labels_T.scalar_type() == at::kLong, "{}: labels have type {}, needs Long", function,
        at::toString(labels_T.scalar_type()));
  check(labels_T.size(0) == num_tokens, "{}: labels are {} but {} have {} rows, needs one label per row", function,
        labels_T.size(0), rows_name, num_tokens);

  check(vocabulary_size > 0, "{}: {} are of 0 words, needs at least one", function, rows_name);
  check(options.smoothing >= 0.0 && options.smoothing <= 1.0, "{}: smoothing is {}, needs 0 to 1", function,
        options.smoothing);
  check(options.ignored < vocabulary_size, "{}: ignored is {}, but {} have {} words, needs a word's number or -1",
        function, options.ignored, rows_name, vocabulary_size);
  if (labels_T.size(0) == 0 || !labels_T.is_cpu()) return;  // reading from a device would wait for it
  for (const std::int64_t label : {labels_T.min().item<std::int64_t>(), labels_T.max().item<std::int64_t>()}) {
    check(label >= 0 && label < vocabulary_size, "{}: labels hold {}, but {} have {} words, needs 0 to {}", function,
          label, rows_name, vocabulary_size, vocabulary_size - 1);
  }
}

LossSums BatchLoss::sums() const {
  LossSums sums = counts;
  if (!loss_and_correct.defined()) return sums;
  const std::vector<double> numbers = read_numbers(loss_and_correct);
  sums.loss = numbers[0];
  sums.correct = static_cast<std::int64_t>(numbers[1]);
  return sums;
}

at::Tensor smoothed_loss(const at::Tensor& logits_TC, const at::Tensor& labels_T, const LossOptions& options) {
  check_arguments("smoothed_loss", logits_TC, labels_T, options);
  if (backend_of(logits_TC) != Backend::kGpu) {
    return smoothed_loss_in_aten(logits_TC, labels_T, options);
  }
  const bool needs_gradient = c10::GradMode::is_enabled() && logits_TC.requires_grad();
  return apply_one<SmoothedLossOnGpu>({logits_TC, labels_T}, target_of(options, logits_TC.size(1)), needs_gradient);
}

at::Tensor smoothed_loss_in_aten(const at::Tensor& logits_TC, const at::Tensor& labels_T, const LossOptions& options) {
  check_arguments("smoothed_loss", logits_TC, labels_T, options);
  return apply_one<SmoothedLoss>({logits_TC, labels_T}, target_of(options, logits_TC.size(1)));
}

at::Tensor smoothed_loss_plain(const at::Tensor& logits_TC, const at::Tensor& labels_T, const LossOptions& options) {
  check_arguments("smoothed_loss_plain", logits_TC, labels_T, options);
  const SmoothedTarget target = target_of(options, logits_TC.size(1));
  at::Tensor target_TC = at::full_like(logits_TC.detach(), target.other_probability);
  if (target.ignored_token >= 0) target_TC.select(1, target.ignored_token).fill_(0);
  target_TC.scatter_(1, labels_T.unsqueeze(1), target.label_probability);
  target_TC.masked_fill_((labels_T == target.ignored_token).unsqueeze(1), 0);
  return (at::xlogy(target_TC, target_TC) - target_TC * at::log_softmax(logits_TC, 1)).sum();
}

std::int64_t count_correct(const at::Tensor& logits_TC, const at::Tensor& labels_T, const LossOptions& options) {
  check_arguments("count_correct", logits_TC, labels_T, options);
  return find_correct(logits_TC, labels_T, options).sum().item<std::int64_t>();
}

at::Tensor find_correct(const at::Tensor& logits_TC, const at::Tensor& labels_T, const LossOptions& options) {
  return (logits_TC.argmax(1) == labels_T) & (labels_T != options.ignored);
}

}  // namespace edgewise
