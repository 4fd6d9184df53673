// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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
  void begin(std::int64_t step) {
    begin_ = Clock::now();
    first_step_ = step;
  }

  void add_step(Clock::duration duration, const Update& update) {
    sums_.busy += duration;
    sums_.tokens += update.sums.tokens;
    ++sums_.steps;
    sums_.imbalances += update.imbalance;
    sums_.exchange_seconds += update.exchange_seconds;
  }

  /// Forgets the steps so far.
  void restart() { sums_ = {}; }

  /// Returns the speed of the steps added since the last restart(), without validations and saves.
  double tokens_per_second() const { return static_cast<double>(sums_.tokens) / busy_seconds(); }

  /// Returns the mean imbalance of these steps; 1 without steps.
  double imbalance() const { return sums_.steps == 0 ? 1.0 : sums_.imbalances / static_cast<double>(sums_.steps); }

  /// Returns the share of the time of these steps that this process spent in exchanges (Update::exchange_seconds).
  double exchange_share() const { return sums_.exchange_seconds / busy_seconds(); }

  /// Returns the seconds since begin().
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  /// Estimates the seconds from `step` to `last_step` at the mean speed since begin(), with validations and saves.
  double seconds_left(std::int64_t step, std::int64_t last_step) const {
    const auto done = static_cast<double>(std::max<std::int64_t>(step - first_step_, 1));
    return seconds() / done * static_cast<double>(last_step - step);
  }

 private:
  struct Sums {
    Clock::duration busy{};
    std::int64_t tokens = 0;
    std::int64_t steps = 0;
    double imbalances = 0.0;
    double exchange_seconds = 0.0;
  };

  double busy_seconds() const { return std::max(std::chrono::duration<double>(sums_.busy).count(), 1e-9); }

  Clock::time_point begin_;
  std::int64_t first_step_ = 0;
  Sums sums_;  // over the steps since restart()
};

}  // namespace edgewise
