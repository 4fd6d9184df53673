// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "edgewise/base/descriptor.h"
#include "edgewise/train/observer.h"

namespace edgewise {

/// RUN/metrics.jsonl: one JSON object a line, each with its step and epoch. Lines are appended whole; those that a full
/// disk has no place for wait for the next attempt.
class MetricsFile {
 public:
  using Value = std::variant<std::int64_t, double, StepHistogram>;
  using Values = std::vector<std::pair<std::string_view, Value>>;

  /// Keeps the whole lines among the first `size` bytes of a file that exists, such as a checkpoint counts on, and cuts
  /// off the rest. Throws Error when the file cannot be written.
  MetricsFile(std::filesystem::path path, std::int64_t size);

  /// A number that is not finite becomes null, as JSON has none.
  void append(std::int64_t step, std::int64_t epoch, const Values& values);

  /// Brings all lines to the disk: the file's size. Throws Error when that fails; nothing is lost, and it can be tried
  /// again.
  std::int64_t sync();

 private:
  int write_waiting();
  void check_error(int error) const;

  std::filesystem::path path_;
  Descriptor file_;
  std::uint64_t size_ = 0;
  std::string waiting_;   // lines that are not in the file
  bool is_torn_ = false;  // whether something of them may be
};

/// What the file says of steps, and of a validation.
MetricsFile::Values metrics_of(const StepReport& report);
MetricsFile::Values metrics_of(const Validation& validation);

}  // namespace edgewise
