// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "edgewise/base/file_descriptor.h"
#include "edgewise/train/observer.h"

namespace edgewise {

/// Writes RUN/metrics.jsonl: one JSON object per line, with step and epoch. Only complete lines are appended; lines
/// that cannot be written, as on a full disk, are kept in memory until the next attempt.
class MetricsFile {
 public:
  using Value = std::variant<std::int64_t, double, PonderHistogram>;
  using Values = std::vector<std::pair<std::string_view, Value>>;

  /// Opens or creates the file. Keeps the complete lines among its first `size` bytes, the size at the last checkpoint,
  /// and removes the rest. Throws Error when the file cannot be written.
  MetricsFile(std::filesystem::path path, std::int64_t size);

  /// Appends a line. A number that is not finite becomes null.
  void append(std::int64_t step, std::int64_t epoch, const Values& values);

  /// Writes all lines to the disk (fsync) and returns the size of the file. Throws Error on failure. The lines stay in
  /// memory until they are on the disk, because a system may drop written bytes whose fsync failed: the next attempt
  /// writes them again.
  std::int64_t sync();

 private:
  int write_lines();
  int cut_partial_line();
  void check_error(int error) const;

  std::filesystem::path path_;
  FileDescriptor file_;
  std::uint64_t synced_size_ = 0;  // bytes of the file that are on the disk
  std::string unsynced_;           // the lines after these bytes
  std::size_t written_ = 0;        // bytes of unsynced_ that are written
  bool must_cut_ = false;          // whether the file may have other bytes after the written lines
};

/// Return the names and values of a line of metrics.
MetricsFile::Values metrics_of(const StepReport& report);
MetricsFile::Values metrics_of(const Validation& validation);

}  // namespace edgewise
