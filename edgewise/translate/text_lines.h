// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "edgewise/base/fields.h"
#include "edgewise/text/line_reader.h"

namespace edgewise {

/// What becomes of a line that is not UTF-8: an error, or U+FFFD for each byte that is not.
enum class BadText { kStop, kReplace };

inline constexpr auto enum_names(BadText) {
  return std::array{EnumName<BadText>{BadText::kStop, "stop"}, EnumName<BadText>{BadText::kReplace, "replace"}};
}

struct TextLinesOptions {
  std::string path = "-";  // plain or packed; "-" is standard input
  std::string caller;      // the function that errors begin with
  BadText bad_text = BadText::kStop;
  std::size_t max_line_bytes = std::size_t{64} << 20;
  LongLines long_lines = LongLines::kError;
  std::function<void(const std::string& report)> report = {};  // told what was put right, and where
};

/// The lines of a text, all of them UTF-8.
class TextLines {
 public:
  explicit TextLines(TextLinesOptions options);

  /// None at the end. Throws Error for a line that is too long and not to be cut, or not UTF-8 and not to
  /// be replaced.
  std::optional<std::string> next();

  std::int64_t line_number() const { return reader_.line_number(); }

 private:
  TextLinesOptions options_;
  LineReader reader_;
};

}  // namespace edgewise
