// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "edgewise/train/appended_file.h"
#include "edgewise/train/observer.h"

namespace edgewise {

/// Writes RUN/metrics.jsonl: one JSON object per line, with step and epoch.
class MetricsFile {
 public:
  using Value = std::variant<std::int64_t, double, PonderHistogram, std::map<std::int64_t, double>>;
  using Values = std::vector<std::pair<std::string_view, Value>>;

  /// Opens or creates the file, and cuts it to the complete lines among its first `size` bytes, the size at the last
  /// checkpoint. Throws Error as AppendedFile does.
  MetricsFile(const std::filesystem::path& path, std::int64_t size);

  /// Appends a line. A number that is not finite becomes null.
  void append(std::int64_t step, std::int64_t epoch, const Values& values);

  /// Writes all lines to the disk and returns the size of the file, as AppendedFile::sync does.
  std::int64_t sync() { return static_cast<std::int64_t>(file_.sync()); }

 private:
  AppendedFile file_;
};

/// Return the names and values of a line of metrics.
MetricsFile::Values metrics_of(const StepReport& report);
MetricsFile::Values metrics_of(const Validation& validation);

}  // namespace edgewise
