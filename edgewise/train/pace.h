// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace edgewise {

/// How fast training goes: by its steps alone, and by the clock since it began.
class Pace {
 public:
  using Clock = std::chrono::steady_clock;

  /// Now, at this step.
  void begin(std::int64_t step);

  void add_step(Clock::duration took, std::int64_t tokens);

  /// Over the steps added since the last restart(). Validations and saves do not count.
  double tokens_per_second() const;
  void restart();

  /// Since begin().
  double seconds() const;

  /// How long it takes from one step to another at the pace since begin(), with all that happens between steps.
  double seconds_left(std::int64_t step, std::int64_t last_step) const;

 private:
  Clock::time_point begin_;
  std::int64_t first_step_ = 0;
  Clock::duration busy_{};
  std::int64_t tokens_ = 0;
};

}  // namespace edgewise
