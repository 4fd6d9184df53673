// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "edgewise/nn/module.h"

namespace edgewise {

/// The exponential moving average of parameters over updates, with the bias correction of Adam's moments (Kingma and Ba
/// 2015, section 3), so that the average is a weighted mean of values from the first update on:
///
///     average_t = (1 - decay) / (1 - decay^t) · sum over i = 1…t of decay^(t - i) · value_i
///               = average_{t-1} + (1 - decay) / (1 - decay^t) · (value_t - average_{t-1})
class WeightAverage {
 public:
  /// Refers to the parameters without copying them, and calls begin().
  WeightAverage(std::vector<NamedTensor> parameters, double decay);

  /// Starts again: the average is a copy of the parameters until the first update.
  void begin();

  /// Adds the values after an update of the parameters. Takes one pass over parameters and averages.
  void update();

  /// Returns handles to the averages, under the names of the parameters.
  const std::vector<NamedTensor>& tensors() const { return averages_; }

  std::int64_t num_updates() const { return num_updates_; }
  /// Sets the number of updates of averages that were loaded into `tensors()`.
  void set_num_updates(std::int64_t num_updates) { num_updates_ = num_updates; }

  /// Exchanges the values of parameters and averages.
  void swap();

 private:
  std::vector<NamedTensor> parameters_;
  std::vector<NamedTensor> averages_;
  double decay_;
  std::int64_t num_updates_ = 0;
};

/// Gives the parameters the values of their averages during its lifetime. Has no effect for a null average.
class AveragedWeights {
 public:
  explicit AveragedWeights(WeightAverage* average) : average_(average) { swap(); }
  AveragedWeights(const AveragedWeights&) = delete;
  AveragedWeights& operator=(const AveragedWeights&) = delete;
  ~AveragedWeights() { swap(); }

 private:
  void swap() {
    if (average_ != nullptr) average_->swap();
  }

  WeightAverage* average_;
};

}  // namespace edgewise
