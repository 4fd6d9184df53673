// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/training_tensors.h"

#include <ATen/ops/zeros_like.h>

namespace edgewise {

std::vector<NamedTensor> TrainingTensors::of_model(const FlatParameters& parameters) const {
  return parameters.views(averages.defined() ? averages : values, "");
}

std::vector<NamedTensor> TrainingTensors::of_training(const FlatParameters& parameters, bool has_values) const {
  std::vector<NamedTensor> tensors = parameters.views(means, "mean.");
  const auto append = [&](const at::Tensor& flat, const std::string& prefix) {
    for (NamedTensor& tensor : parameters.views(flat, prefix)) tensors.push_back(std::move(tensor));
  };
  append(variances, "variance.");
  if (has_values) append(values, "value.");
  return tensors;
}

TrainingTensors gather_tensors(const TrainingArrays& arrays) {
  const OwnedPieces& pieces = arrays.pieces;
  return {.values = pieces.processes().rank() == 0 ? arrays.parameters.values() : at::Tensor(),
          .means = pieces.gather(arrays.adam.means()),
          .variances = pieces.gather(arrays.adam.variances()),
          .averages = arrays.average == nullptr ? at::Tensor() : pieces.gather(arrays.average->averages())};
}

TrainingTensors allocate_tensors(const TrainingArrays& arrays) {
  const ProcessGroup& processes = arrays.pieces.processes();
  if (processes.size() == 1) return gather_tensors(arrays);
  if (processes.rank() != 0) return {};
  const at::Tensor& values = arrays.parameters.values();
  return {.values = values,
          .means = at::zeros_like(values),
          .variances = at::zeros_like(values),
          .averages = arrays.average == nullptr ? at::Tensor() : at::zeros_like(values)};
}

void scatter_tensors(const TrainingTensors& tensors, const TrainingArrays& arrays, bool has_averages) {
  const OwnedPieces& pieces = arrays.pieces;
  pieces.processes().broadcast(arrays.parameters.values(), 0);
  pieces.scatter(tensors.means, arrays.adam.means());
  pieces.scatter(tensors.variances, arrays.adam.variances());
  if (has_averages) pieces.scatter(tensors.averages, arrays.average->averages());
}

}  // namespace edgewise
