// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/training_timer.h"

#include <algorithm>

namespace edgewise {
namespace {

double in_seconds(TrainingTimer::Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

void TrainingTimer::begin(std::int64_t step) {
  begin_ = Clock::now();
  first_step_ = step;
}

void TrainingTimer::add_step(Clock::duration duration, const Update& update) {
  busy_ += duration;
  tokens_ += update.sums.tokens;
  ++steps_;
  imbalances_ += update.imbalance;
  exchange_seconds_ += update.exchange_seconds;
}

double TrainingTimer::tokens_per_second() const {
  return static_cast<double>(tokens_) / std::max(in_seconds(busy_), 1e-9);
}

double TrainingTimer::exchange_share() const { return exchange_seconds_ / std::max(in_seconds(busy_), 1e-9); }

void TrainingTimer::restart() {
  busy_ = {};
  tokens_ = 0;
  steps_ = 0;
  imbalances_ = 0.0;
  exchange_seconds_ = 0.0;
}

double TrainingTimer::seconds() const { return in_seconds(Clock::now() - begin_); }

double TrainingTimer::seconds_left(std::int64_t step, std::int64_t last_step) const {
  const auto done = static_cast<double>(std::max<std::int64_t>(step - first_step_, 1));
  return seconds() / done * static_cast<double>(last_step - step);
}

}  // namespace edgewise
