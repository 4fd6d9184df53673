// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/line_output.h"

#include <unistd.h>

#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/translate/model_paths.h"

namespace edgewise {

std::unique_ptr<AtomicFile> open_output(const std::string& path, std::span<const std::filesystem::path> inputs,
                                        std::string_view caller) {
  if (path.empty()) return nullptr;
  check_output_file(path, inputs, caller);
  return std::make_unique<AtomicFile>(path, caller);
}

LineOutput::LineOutput(AtomicFile* file, std::string_view caller)
    : caller_(caller),
      file_(file),
      is_live_(isatty(STDERR_FILENO) == 1 && (file != nullptr || isatty(STDOUT_FILENO) == 0)),
      start_(Clock::now()),
      last_progress_(start_) {}

void LineOutput::write(std::string_view text, int sentences) {
  sentences_ += sentences;
  if (file_ != nullptr) {
    file_->write(text);
  } else {
    write_output(text);
    require_output(caller_);
  }
  if (is_live_) print_progress();
}

void LineOutput::finish() {
  if (file_ != nullptr) file_->commit();
  end_progress();
}

void LineOutput::print_progress() {
  const auto now = Clock::now();
  if (now - last_progress_ < std::chrono::milliseconds(200)) return;
  last_progress_ = now;
  has_progress_line_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  // Return to the start of the line, and clear the rest of a longer line.
  print_error("\r{} sentences, {:.1f} a second\x1b[K", sentences_, static_cast<double>(sentences_) / seconds);
}

void LineOutput::end_progress() {
  if (has_progress_line_) print_error("\n");
  has_progress_line_ = false;
}

}  // namespace edgewise
