// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "edgewise/base/files.h"

namespace edgewise {

/// Where a command's lines go: a file, which appears whole at the end, or standard output, line by line: whenever the
/// program is killed, what is written is whole lines. Tells a person on standard error how many there are, unless the
/// lines themselves are on the terminal.
class LineOutput {
 public:
  /// An empty path is standard output. Errors begin with `caller`.
  LineOutput(const std::string& path, std::string_view caller);
  ~LineOutput();

  /// `text` is whole lines, which one sentence became.
  void write(std::string_view text);

  /// All were written.
  void finish();

 private:
  void show_progress();
  void end_progress();

  std::string caller_;
  std::unique_ptr<AtomicFile> file_;
  bool is_live_;
  bool is_shown_ = false;
  std::int64_t sentences_ = 0;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_shown_;
};

}  // namespace edgewise
