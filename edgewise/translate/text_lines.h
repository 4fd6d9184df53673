// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "edgewise/base/config/fields.h"
#include "edgewise/text/corpus/line_reader.h"

namespace edgewise {

/// Treatment of lines that are not UTF-8: an error, or replacement of each invalid byte by U+FFFD.
enum class BadText { kStop, kReplace };

inline constexpr auto enum_names(BadText) {
  return std::array{EnumName{BadText::kStop, "stop"}, EnumName{BadText::kReplace, "replace"}};
}

struct TextLinesOptions {
  std::string path = "-";  // plain or compressed; "-" is standard input
  std::string caller;      // error messages begin with this function name
  BadText bad_text = BadText::kStop;
  std::size_t max_line_bytes = std::size_t{64} << 20;
  LongLines long_lines = LongLines::kError;
  LineEnds line_ends = LineEnds::kRemove;
  std::function<void(const std::string& report)> report = {};  // receives a line for each repair
  const StopRequest* stop = nullptr;                           // ends reading (byte_source.h)
};

/// Reads the lines of a text as UTF-8.
class TextLines {
 public:
  explicit TextLines(TextLinesOptions options);

  /// Returns nullopt at the end. Throws Error for lines that are too long or not UTF-8, unless the options allow
  /// repairs.
  std::optional<std::string> next();

  /// Reads a line as next() does, but does not check or repair it. Returns false at the end.
  bool skip();

  /// Returns the number of the line that was read last, counted from 1.
  std::int64_t line_number() const { return reader_.line_number(); }

  /// Returns the name of the text for messages.
  const std::string& path() const { return reader_.path(); }
  const std::string& caller() const { return options_.caller; }

 private:
  TextLinesOptions options_;
  LineReader reader_;
};

}  // namespace edgewise
