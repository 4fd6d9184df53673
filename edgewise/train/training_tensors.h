// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "edgewise/train/adam.h"
#include "edgewise/train/flat_parameters.h"
#include "edgewise/train/weight_average.h"

namespace edgewise {

/// The arrays of training, each owned in part by every process; a null `average` means no averaging.
struct TrainingArrays {
  const FlatParameters& parameters;
  const OwnedPieces& pieces;
  const Adam& adam;
  const WeightAverage* average = nullptr;
};

/// The flat arrays (FlatParameters) of a checkpoint, whole in process 0 and undefined in the others. Without averaging,
/// `averages` is undefined.
struct TrainingTensors {
  at::Tensor values;
  at::Tensor means;
  at::Tensor variances;
  at::Tensor averages;

  /// Returns the tensors of model.safetensors: the averages or, without averaging, the weights.
  std::vector<NamedTensor> of_model(const FlatParameters& parameters) const;

  /// Returns the tensors of training.safetensors: Adam's moments and, with `has_values`, the weights.
  std::vector<NamedTensor> of_training(const FlatParameters& parameters, bool has_values) const;
};

/// Returns the arrays of all processes to process 0. In a single process, the results share the memory of the arrays.
/// All processes call this function.
TrainingTensors gather_tensors(const TrainingArrays& arrays);

/// Returns arrays to fill for scatter_tensors.
TrainingTensors allocate_tensors(const TrainingArrays& arrays);

/// Copies the tensors of process 0 to the arrays of all processes, the averages only with `has_averages`. All processes
/// call this function.
void scatter_tensors(const TrainingTensors& tensors, const TrainingArrays& arrays, bool has_averages);

}  // namespace edgewise
