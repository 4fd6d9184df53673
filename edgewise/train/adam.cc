// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/adam.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/ops/tensor_parts.h"

namespace edgewise {
namespace {

// A larger divisor, of a clip_norm near 0, does not fit into the kernel's float.
constexpr double kMaxFloat = std::numeric_limits<float>::max();

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
  std::vector<at::Tensor> gradients;
  for (const NamedTensor& parameter : parameters_) {
    at::Tensor& gradient = parameter.tensor.mutable_grad();
    if (gradient.defined()) {
      gradients.push_back(gradient);
    } else {
      gradient = at::zeros_like(parameter.tensor, at::MemoryFormat::Contiguous);
    }
  }
  parallel_parts(split_tensors(gradients), [&](std::span<const TensorPart> parts) {
    for (const TensorPart& part : parts) take_part(gradients, part).zero_();
  });
}

double Adam::gradient_norm() const {
  std::vector<at::Tensor> gradients;
  for (const NamedTensor& parameter : parameters_) {
    if (parameter.tensor.grad().defined()) gradients.push_back(parameter.tensor.grad());
  }
  const std::vector<TensorPart> all_parts = split_tensors(gradients);
  std::vector<double> norms(all_parts.size());
  parallel_parts(all_parts, [&](std::span<const TensorPart> parts) {
    for (const TensorPart& part : parts) {
      norms[part.index] = at::linalg_vector_norm(take_part(gradients, part)).item<double>();
    }
  });
  double sum_of_squares = 0.0;
  for (const double norm : norms) sum_of_squares += norm * norm;
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
  const double divisor = step.divisor * step.clip_divisor(norm);
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

  const at::Tensor num_steps = scalar_like(values[0], static_cast<double>(num_steps_));
  const at::Tensor scale = scalar_like(values[0], std::min(divisor, kMaxFloat));
  const auto take_parts = [](const std::vector<at::Tensor>& tensors, std::span<const TensorPart> parts) {
    std::vector<at::Tensor> taken;
    for (const TensorPart& part : parts) taken.push_back(take_part(tensors, part));
    return taken;
  };
  parallel_parts(split_tensors(values), [&](std::span<const TensorPart> parts) {
    at::_fused_adamw_(take_parts(values, parts), take_parts(gradients, parts), take_parts(means, parts),
                      take_parts(variances, parts), /*max_exp_avg_sqs=*/{}, std::vector(parts.size(), num_steps),
                      learning_rate, options_.beta1, options_.beta2, are_matrices ? options_.weight_decay : 0.0,
                      options_.epsilon, /*amsgrad=*/false, /*maximize=*/false, scale, /*found_inf=*/std::nullopt);
  });
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
