// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

#include "edgewise/train/observer.h"

namespace edgewise {

/// "4 min 05 s", "12 s", "3 h 20 min".
std::string human_time(double seconds);

/// Tells a person how training goes, on standard output: one live line if that is a terminal, no longer than it is
/// wide, otherwise a line each time metrics are written. Warnings go to standard error.
class Progress : public TrainObserver {
 public:
  Progress();
  ~Progress() override;

  void on_step(const StepReport& report) override;
  void on_log(const StepReport& report) override;
  void on_validation(std::int64_t step, const Validation& validation, bool is_best) override;
  void on_warning(std::int64_t step, const std::string& what) override;

  /// Ends the live line, so that something else can be printed.
  void finish_line();

 private:
  std::string line_of(const StepReport& report) const;

  bool is_live_;
  bool line_is_open_ = false;
  std::chrono::steady_clock::time_point last_drawn_;
  Validation last_validation_;  // nothing is measured before the first
};

/// "loss 1.83, accuracy 64.2 %, BLEU 31.4": what was measured of it.
std::string human_validation(const Validation& validation);

}  // namespace edgewise
