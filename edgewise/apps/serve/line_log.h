// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace edgewise {

/// Writes the lines of a log in a thread of its own, so that a slow reader of the log delays no other thread. Lines
/// that come within 10 ms are written together.
class LineLog {
 public:
  /// Receives whole lines with their line feeds. Returns false if they are lost.
  using Write = std::function<bool(std::string_view text)>;

  /// Throws Error if the system refuses to start a thread.
  explicit LineLog(Write write);

  /// Writes the lines that wait, and how many were lost since the last line.
  ~LineLog();

  /// Never waits for the reader: a line is lost while 4 MiB wait. A line `{"lost_lines": N}` tells how many lines were
  /// lost, by this or by a failure of `write`. Threads may call this at the same time.
  void add(std::string_view line);

 private:
  void write_lines();

  Write write_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string waiting_;
  std::size_t num_waiting_ = 0;  // lines added to waiting_, and lines of whose loss it tells
  std::size_t num_lost_ = 0;     // lines that did not fit since the last one that did
  bool is_at_end_ = false;
  std::jthread thread_;
};

}  // namespace edgewise
