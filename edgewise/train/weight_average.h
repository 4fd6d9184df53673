// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "edgewise/train/flat_parameters.h"

namespace edgewise {

/// The exponential moving average of the parameters over updates, with the bias correction of Adam's moments (Kingma
/// and Ba 2015, section 3), so that the average is a weighted mean of values from the first update on:
///
///     average_t = (1 - decay) / (1 - decay^t) · sum over i = 1…t of decay^(t - i) · value_i
///               = average_{t-1} + (1 - decay) / (1 - decay^t) · (value_t - average_{t-1})
///
/// A process keeps the averages of the pieces that it owns.
class WeightAverage {
 public:
  /// Calls begin(). Parameters and pieces must outlive this object.
  WeightAverage(const FlatParameters& parameters, const OwnedPieces& pieces, double decay);

  /// Starts again: the average is a copy of the parameters until the first update.
  void begin();

  /// Adds the values after an update of the parameters. Takes one pass over the owned values and averages.
  void update();

  /// Returns a handle to the owned array of the averages.
  const at::Tensor& averages() const { return averages_; }

  std::int64_t num_updates() const { return num_updates_; }
  /// Sets the number of updates of averages that were loaded into averages().
  void set_num_updates(std::int64_t num_updates) { num_updates_ = num_updates; }

  /// Gives all parameters, in all processes, the values of their averages. All processes call this function.
  void copy_to_parameters() const;

  const FlatParameters& parameters() const { return parameters_; }

 private:
  const FlatParameters& parameters_;
  const OwnedPieces& pieces_;
  at::Tensor averages_;
  double decay_;
  std::int64_t num_updates_ = 0;
};

/// Gives the parameters the values of their averages during its lifetime. Has no effect for a null average.
class AveragedWeights {
 public:
  /// All processes call the constructor.
  explicit AveragedWeights(const WeightAverage* average);
  AveragedWeights(const AveragedWeights&) = delete;
  AveragedWeights& operator=(const AveragedWeights&) = delete;
  ~AveragedWeights();

 private:
  const WeightAverage* average_;
  at::Tensor values_;  // the parameters before
};

}  // namespace edgewise
