// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include "edgewise/train/updater.h"

namespace edgewise {

/// Measures the tokens per second of training steps alone, how evenly the processes share the tokens, how long this
/// process exchanges tensors with others, and the time of the whole training.
class TrainingTimer {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts the clock after `step` steps.
  void begin(std::int64_t step);

  void add_step(Clock::duration duration, const Update& update);

  /// Returns the speed of the steps added since the last restart(), without validations and saves.
  double tokens_per_second() const;
  /// Returns the mean imbalance of these steps; 1 without steps.
  double imbalance() const { return steps_ == 0 ? 1.0 : imbalances_ / static_cast<double>(steps_); }
  /// Returns the share of the time of these steps that this process spent in exchanges (Update::exchange_seconds).
  double exchange_share() const;
  void restart();

  /// Returns the seconds since begin().
  double seconds() const;

  /// Estimates the seconds from `step` to `last_step` at the mean speed since begin(), with validations and saves.
  double seconds_left(std::int64_t step, std::int64_t last_step) const;

 private:
  Clock::time_point begin_;
  std::int64_t first_step_ = 0;
  Clock::duration busy_{};   // time of the steps since restart()
  std::int64_t tokens_ = 0;  // tokens of these steps
  std::int64_t steps_ = 0;
  double imbalances_ = 0.0;  // their sum
  double exchange_seconds_ = 0.0;
};

}  // namespace edgewise
