// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace edgewise {

/// Mean and standard deviation of the loss over about the last 100 steps, by which a step's loss that leaps up is
/// noticed. The first 100 steps count alike; from then on, each weighs 1 % less than the step after it.
struct LossStatistics {
  std::int64_t steps = 0;
  double mean = 0.0;
  double variance = 0.0;

  void add(double loss);
  double deviation() const;

  /// Whether a loss, not yet added, is above mean + deviations · standard deviation. Never before 100 steps.
  bool is_spike(double loss, double deviations) const;

  bool operator==(const LossStatistics&) const = default;
};

}  // namespace edgewise
