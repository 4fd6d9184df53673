// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/adam.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <optional>
#include <utility>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

at::Tensor scalar_like(const at::Tensor& like, double value) {
  return at::full({}, value, like.options().dtype(at::kFloat));
}

}  // namespace

Adam::Adam(std::vector<NamedTensor> parameters, const AdamOptions& options)
    : parameters_(std::move(parameters)), options_(options) {
  for (const NamedTensor& parameter : parameters_) {
    check(parameter.tensor.is_leaf() && parameter.tensor.requires_grad(),
          "Adam: parameter \"{}\" takes no gradient, needs a leaf that requires one", parameter.name);
    means_.push_back(at::zeros_like(parameter.tensor, at::MemoryFormat::Contiguous));
    variances_.push_back(at::zeros_like(parameter.tensor, at::MemoryFormat::Contiguous));
  }
}

void Adam::clear_gradients() {
  for (const NamedTensor& parameter : parameters_) {
    at::Tensor& gradient = parameter.tensor.mutable_grad();
    if (gradient.defined()) {
      gradient.zero_();
    } else {
      gradient = at::zeros_like(parameter.tensor, at::MemoryFormat::Contiguous);
    }
  }
}

double Adam::gradient_norm() const {
  double sum_of_squares = 0.0;
  for (const NamedTensor& parameter : parameters_) {
    if (!parameter.tensor.grad().defined()) continue;
    const double norm = at::linalg_vector_norm(parameter.tensor.grad()).item<double>();
    sum_of_squares += norm * norm;
  }
  return std::sqrt(sum_of_squares);
}

double Adam::step(const AdamStep& step) {
  check(step.divisor > 0.0, "Adam::step: divisor is {}, needs a number above 0", step.divisor);
  const at::NoGradGuard no_gradients;
  const double norm = gradient_norm() / step.divisor;
  if (!std::isfinite(norm)) {
    skip();
    return norm;
  }

  ++num_steps_;
  const bool is_clipped = step.clip_norm > 0.0 && norm > step.clip_norm;
  const double divisor = is_clipped ? step.divisor * (norm / step.clip_norm) : step.divisor;
  update(/*are_matrices=*/true, step.learning_rate, divisor);
  update(/*are_matrices=*/false, step.learning_rate, divisor);
  return norm;
}

void Adam::update(bool are_matrices, double learning_rate, double divisor) {
  std::vector<at::Tensor> values, gradients, means, variances;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& value = parameters_[i].tensor;
    if (!value.grad().defined() || (value.dim() > 1) != are_matrices) continue;
    values.push_back(value);
    gradients.push_back(value.grad().contiguous());
    means.push_back(means_[i]);
    variances.push_back(variances_[i]);
  }
  if (values.empty()) return;

  const std::vector<at::Tensor> steps(values.size(), scalar_like(values[0], static_cast<double>(num_steps_)));
  at::_fused_adamw_(values, gradients, means, variances, /*max_exp_avg_sqs=*/{}, steps, learning_rate, options_.beta1,
                    options_.beta2, are_matrices ? options_.weight_decay : 0.0, options_.epsilon, /*amsgrad=*/false,
                    /*maximize=*/false, scalar_like(values[0], divisor), /*found_inf=*/std::nullopt);
}

std::vector<NamedTensor> Adam::moments() const {
  std::vector<NamedTensor> moments;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    moments.push_back({"mean." + parameters_[i].name, means_[i]});
    moments.push_back({"variance." + parameters_[i].name, variances_[i]});
  }
  return moments;
}

void Adam::set_counts(std::int64_t num_steps, std::int64_t num_skipped) {
  num_steps_ = num_steps;
  num_skipped_ = num_skipped;
}

}  // namespace edgewise
