// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "edgewise/base/descriptor.h"

namespace edgewise {

/// RUN/metrics.jsonl: one JSON object a line, each with its step and epoch. Lines are appended whole: what a crash or a
/// full disk left of one is cut off.
class MetricsFile {
 public:
  using Number = std::variant<std::int64_t, double>;
  using Values = std::vector<std::pair<std::string_view, Number>>;

  /// Keeps the lines up to `last_step` of a file that exists; 0 begins a new one. Throws Error for a line in between
  /// that has no step, and when the file cannot be written.
  MetricsFile(std::filesystem::path path, std::int64_t last_step);

  /// A number that is not finite becomes null, as JSON has none.
  void append(std::int64_t step, std::int64_t epoch, const Values& values);

 private:
  void cut(std::size_t size);

  std::filesystem::path path_;
  Descriptor file_;
  std::size_t size_ = 0;
};

}  // namespace edgewise
