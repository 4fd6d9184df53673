// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/weight_average.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>

#include <cmath>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/profile.h"
#include "edgewise/ops/tensor_parts.h"

namespace edgewise {
namespace {

std::vector<at::Tensor> tensors_of(const std::vector<NamedTensor>& named) {
  std::vector<at::Tensor> tensors;
  tensors.reserve(named.size());
  for (const NamedTensor& each : named) tensors.push_back(each.tensor);
  return tensors;
}

}  // namespace

WeightAverage::WeightAverage(std::vector<NamedTensor> parameters, double decay)
    : parameters_(std::move(parameters)), decay_(decay) {
  check(decay > 0.0 && decay < 1.0, "WeightAverage: decay is {}, needs a number above 0 and below 1", decay);
  for (const NamedTensor& parameter : parameters_) {
    averages_.push_back({parameter.name, at::empty_like(parameter.tensor.detach(), at::MemoryFormat::Contiguous)});
  }
  begin();
}

void WeightAverage::begin() {
  const at::NoGradGuard no_gradients;
  num_updates_ = 0;
  for (std::size_t i = 0; i < averages_.size(); ++i) averages_[i].tensor.copy_(parameters_[i].tensor);
}

void WeightAverage::update() {
  const ScopedTimer timer("average");
  ++num_updates_;
  const double share = (1.0 - decay_) / (1.0 - std::pow(decay_, static_cast<double>(num_updates_)));
  const std::vector<at::Tensor> values = tensors_of(parameters_);
  const std::vector<at::Tensor> averages = tensors_of(averages_);
  parallel_parts(split_tensors(values), [&](std::span<const TensorPart> parts) {
    for (const TensorPart& part : parts) take_part(averages, part).lerp_(take_part(values, part), share);
  });
}

void WeightAverage::swap() {
  const at::NoGradGuard no_gradients;
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    const at::Tensor value = parameters_[i].tensor.detach().clone();
    parameters_[i].tensor.copy_(averages_[i].tensor);
    averages_[i].tensor.copy_(value);
  }
}

}  // namespace edgewise
