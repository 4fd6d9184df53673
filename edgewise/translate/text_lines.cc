// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/text_lines.h"

#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"

namespace edgewise {

TextLines::TextLines(TextLinesOptions options)
    : options_(std::move(options)),
      reader_(options_.path, {.max_line_bytes = options_.max_line_bytes,
                              .long_lines = options_.long_lines,
                              .line_ends = options_.line_ends,
                              .caller = options_.caller,
                              .stop = options_.stop}) {}

bool TextLines::skip() {
  std::string line;
  return reader_.next(line);
}

std::optional<std::string> TextLines::next() {
  std::string line;
  if (!reader_.next(line)) return std::nullopt;
  if (reader_.was_cut() && options_.report) {
    options_.report(fmt::format("{}: {}:{} has more than {} bytes, the rest is left out", options_.caller,
                                reader_.path(), reader_.line_number(), options_.max_line_bytes));
  }
  const auto bad = find_bad_utf8(line);
  if (!bad) return line;
  const std::string what = fmt::format("{}: {}:{} has a byte that is not UTF-8 at {}", options_.caller, reader_.path(),
                                       reader_.line_number(), *bad);
  check(options_.bad_text == BadText::kReplace, "{}, needs UTF-8", what);
  if (options_.report) options_.report(what + ", replaced by U+FFFD");
  return replace_bad_utf8(line);
}

}  // namespace edgewise
