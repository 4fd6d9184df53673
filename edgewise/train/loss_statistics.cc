// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/loss_statistics.h"

#include <algorithm>
#include <cmath>

namespace edgewise {
namespace {

constexpr std::int64_t kWindow = 100;

}  // namespace

void LossStatistics::add(double loss) {
  ++steps;
  const double share = 1.0 / static_cast<double>(std::min(steps, kWindow));
  const double difference = loss - mean;
  mean += share * difference;
  variance = (1.0 - share) * (variance + share * difference * difference);
}

double LossStatistics::deviation() const { return std::sqrt(variance); }

bool LossStatistics::is_spike(double loss, double deviations) const {
  return steps >= kWindow && loss > mean + deviations * deviation();
}

}  // namespace edgewise
