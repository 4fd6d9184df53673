// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>

namespace edgewise {
namespace {

constexpr auto kRedrawInterval = std::chrono::milliseconds(100);

/// Columns of the terminal; where they are not known, of a narrow one.
std::size_t terminal_width() {
  winsize size = {};
  const bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? size.ws_col : 80;
}

}  // namespace

std::string human_time(double seconds) {
  const auto whole = static_cast<long long>(std::llround(std::max(seconds, 0.0)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::string human_validation(const Validation& validation) {
  std::string text = fmt::format("loss {:.3f}, accuracy {:.1f} %", validation.loss, 100 * validation.accuracy);
  if (validation.sequence_accuracy)
    text += fmt::format(", sequences right {:.2f} %", 100 * *validation.sequence_accuracy);
  if (validation.bleu) text += fmt::format(", BLEU {:.2f}", *validation.bleu);
  return text;
}

Progress::Progress() : is_live_(isatty(STDOUT_FILENO) == 1) {}

Progress::~Progress() { finish_line(); }

/// What people look for stands first: a narrow terminal cuts off the end.
std::string Progress::line_of(const StepReport& report) const {
  std::string line = report.last_step ? fmt::format("step {}/{}", report.step, *report.last_step)
                                      : fmt::format("step {}", report.step);
  line += fmt::format("  loss {:.3f}", report.loss);
  if (last_validation_.bleu) line += fmt::format("  BLEU {:.2f}", *last_validation_.bleu);
  line += fmt::format("  {:.0f} tokens/s", report.tokens_per_second);
  if (report.seconds_left) line += fmt::format("  {} left", human_time(*report.seconds_left));
  line += fmt::format("  epoch {}  accuracy {:.1f} %  rate {:.2e}", report.epoch, 100 * report.accuracy,
                      report.learning_rate);
  if (report.skipped_steps > 0) line += fmt::format("  {} steps skipped", report.skipped_steps);
  return line;
}

void Progress::on_step(const StepReport& report) {
  const auto now = std::chrono::steady_clock::now();
  if (!is_live_ || now - last_drawn_ < kRedrawInterval) return;
  last_drawn_ = now;
  line_is_open_ = true;
  // Back to the line's start; clear what is left of a longer one.
  fmt::print("\r{}\x1b[K", line_of(report).substr(0, terminal_width() - 1));
  std::fflush(stdout);
}

void Progress::on_log(const StepReport& report) {
  if (is_live_) return;
  fmt::print("{}\n", line_of(report));
  std::fflush(stdout);
}

void Progress::on_validation(std::int64_t step, const Validation& validation, bool is_best) {
  last_validation_ = validation;
  finish_line();
  fmt::print("step {}: validation {}{}\n", step, human_validation(validation), is_best ? " (best)" : "");
  std::fflush(stdout);
}

void Progress::on_warning(std::int64_t step, const std::string& what) {
  finish_line();
  fmt::print(stderr, "step {}: {}\n", step, what);
}

void Progress::finish_line() {
  if (!line_is_open_) return;
  line_is_open_ = false;
  fmt::print("\n");
  std::fflush(stdout);
}

}  // namespace edgewise
