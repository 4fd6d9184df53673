// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/pair_report.h"

#include <fmt/format.h>

namespace edgewise {

std::string describe_counts(std::string_view noun,
                            const std::vector<std::pair<std::int64_t, std::string_view>>& counts) {
  std::string words;
  for (const auto& [count, what] : counts) {
    if (count == 0) continue;
    words += words.empty() ? fmt::format("{} {}{} {}", count, noun, count == 1 ? "" : "s", what)
                           : fmt::format(", {} {}", count, what);
  }
  return words;
}

std::string PairReport::describe_skipped() const {
  return describe_counts("pair", {{empty, "with an empty side"},
                                  {bad_utf8, "with bad UTF-8"},
                                  {nul_bytes, "with a NUL byte"},
                                  {too_long, "with a line that is too long"},
                                  {identical, "with the same text on both sides"}});
}

std::string PairReport::describe_repairs() const {
  std::string words;
  for (const std::string& part : {describe_counts("line", {{carriage_returns, "ended with CR LF"}}),
                                  describe_counts("file", {{byte_order_marks, "began with a byte order mark"}}),
                                  describe_counts("sentence", {{replaced, "had bad UTF-8, now U+FFFD"}})}) {
    if (!words.empty() && !part.empty()) words += ", ";
    words += part;
  }
  return words;
}

std::string PairReport::describe_doubts() const {
  std::string words;
  const auto doubt = [&](std::int64_t count, std::int64_t all, std::string_view what) {
    words += fmt::format("{}{} of {} pairs have {}", words.empty() ? "" : ", ", count, all, what);
  };
  const std::int64_t all = kept + num_skipped();
  if (kept_identical > kept / 2) doubt(kept_identical, kept, "the same text on both sides; is it one file twice?");
  if (nul_bytes > all / 100) doubt(nul_bytes, all, "a NUL byte; is it a binary file?");
  return words;
}

}  // namespace edgewise
