// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/weight_average.h"

#include <ATen/core/grad_mode.h>

#include <cmath>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/profile.h"
#include "edgewise/ops/tensor_parts.h"

namespace edgewise {

WeightAverage::WeightAverage(const FlatParameters& parameters, const OwnedPieces& pieces, double decay)
    : parameters_(parameters), pieces_(pieces), averages_(pieces.make_array()), decay_(decay) {
  check(decay > 0.0 && decay < 1.0, "WeightAverage: decay is {}, needs a number above 0 and below 1", decay);
  begin();
}

void WeightAverage::begin() {
  num_updates_ = 0;
  for (std::size_t i = 0; i < pieces_.ranges().size(); ++i) {
    pieces_.part_of(averages_, i).copy_(take_range(parameters_.values(), pieces_.ranges()[i]));
  }
}

void WeightAverage::update() {
  const ScopedTimer timer("average");
  ++num_updates_;
  const double share = (1.0 - decay_) / (1.0 - std::pow(decay_, static_cast<double>(num_updates_)));
  std::vector<at::Tensor> values, averages;
  for (std::size_t i = 0; i < pieces_.ranges().size(); ++i) {
    values.push_back(take_range(parameters_.values(), pieces_.ranges()[i]));
    averages.push_back(pieces_.part_of(averages_, i));
  }
  parallel_parts(split_tensors(values), [&](std::span<const TensorPart> parts) {
    for (const TensorPart& part : parts) take_part(averages, part).lerp_(take_part(values, part), share);
  });
}

void WeightAverage::copy_to_parameters() const {
  for (std::size_t i = 0; i < pieces_.ranges().size(); ++i) {
    take_range(parameters_.values(), pieces_.ranges()[i]).copy_(pieces_.part_of(averages_, i));
  }
  pieces_.share(parameters_.values());
}

AveragedWeights::AveragedWeights(const WeightAverage* average) : average_(average) {
  if (average_ == nullptr) return;
  values_ = average_->parameters().values().clone();
  average_->copy_to_parameters();
}

AveragedWeights::~AveragedWeights() {
  if (average_ != nullptr) average_->parameters().values().copy_(values_);
}

}  // namespace edgewise
