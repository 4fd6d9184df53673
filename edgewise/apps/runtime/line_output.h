// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "edgewise/base/files/files.h"

namespace edgewise {

/// Opens the file to write, or returns null for an empty path, which means standard output. Throws Error for a path
/// that cannot be written, and for one that check_output_file refuses because of `inputs`, the paths that the command
/// reads; commands call this before they read a model, which takes long.
std::unique_ptr<AtomicFile> open_output(const std::string& path, std::span<const std::filesystem::path> inputs,
                                        std::string_view caller);

/// Writes the lines of a command to a file, which is renamed into place at the end, or to standard output. Standard
/// output has whole lines only, even when the program is killed. Prints the number of sentences on standard error if
/// that is a terminal, unless the lines go to a terminal too.
class LineOutput {
 public:
  /// A null file means standard output, whose errors begin with `caller`.
  LineOutput(AtomicFile* file, std::string_view caller);
  ~LineOutput() { end_progress(); }

  /// Writes whole lines. `sentences` is the number of sentences in them, for the progress.
  void write(std::string_view text, int sentences);

  /// Renames the file into place, after the last sentence.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  void print_progress();
  void end_progress();

  std::string caller_;
  AtomicFile* file_;
  bool is_live_;
  bool has_progress_line_ = false;
  std::int64_t sentences_ = 0;
  Clock::time_point start_;
  Clock::time_point last_progress_;
};

}  // namespace edgewise
