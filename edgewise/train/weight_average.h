// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "edgewise/nn/module.h"

namespace edgewise {

/// The exponential moving average of parameters over updates, as Adam corrects its moments for their bias (Kingma and
/// Ba 2015, section 3), so that it is a weighted mean of values from the first update on:
///
///     average_t = (1 - decay) / (1 - decay^t) · sum over i = 1…t of decay^(t - i) · value_i
///               = average_{t-1} + (1 - decay) / (1 - decay^t) · (value_t - average_{t-1})
class WeightAverage {
 public:
  /// The parameters are shared, not copied.
  WeightAverage(std::vector<NamedTensor> parameters, double decay);

  /// Before any update the average is the parameters' values of this moment; so it is when it is made.
  void begin();

  /// After each update. One pass over parameters and averages.
  void update();

  /// Handles, not copies, by the parameters' names.
  const std::vector<NamedTensor>& tensors() const { return averages_; }

  std::int64_t num_updates() const { return num_updates_; }
  /// For averages that were loaded into `tensors()`.
  void set_num_updates(std::int64_t num_updates) { num_updates_ = num_updates; }

  /// Gives the parameters the averages' values and the other way round.
  void swap();

 private:
  std::vector<NamedTensor> parameters_;
  std::vector<NamedTensor> averages_;
  double decay_;
  std::int64_t num_updates_ = 0;
};

/// As long as it lives, parameters have the values of their average: to validate. Null: they stay as they are.
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
