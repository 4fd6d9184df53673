// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace edgewise {

/// What was read of a corpus, and what became of it.
struct PairAccount {
  std::int64_t kept = 0;
  std::int64_t kept_identical = 0;  // of them, those whose output is their input
  std::int64_t empty = 0;           // pairs with nothing but white space on a side
  std::int64_t bad_utf8 = 0;        // pairs with bytes that are not UTF-8
  std::int64_t nul_bytes = 0;       // pairs with a NUL byte, as binary files have
  std::int64_t too_long = 0;        // pairs with a line above max_line_bytes
  std::int64_t identical = 0;       // pairs whose output is their input

  std::vector<std::string> places;  // the first five of the pairs left out: "a.en:12 is empty"

  std::int64_t carriage_returns = 0;  // lines that ended with CR LF
  std::int64_t byte_order_marks = 0;  // files that began with one
  std::int64_t replaced = 0;          // sentences with bytes that are not UTF-8, which became U+FFFD

  std::int64_t skipped() const { return empty + bad_utf8 + nul_bytes + too_long + identical; }

  /// "1 pair with an empty side, 2 with bad UTF-8"; empty when nothing was skipped.
  std::string skipped_in_words() const;

  /// Likewise what was put right: "3 lines that end with CR LF".
  std::string repairs_in_words() const;

  /// What makes it doubtful that these are translations at all: the same text on both sides of most pairs, as when a
  /// file is given twice, or NUL bytes in more than one of a hundred, as when one is not text. Empty as a rule.
  std::string doubts_in_words() const;
};

/// Counts with what they are of: "3 pairs with …, 1 with …"; nothing of those that are 0.
std::string counts_in_words(std::string_view noun,
                            const std::vector<std::pair<std::int64_t, std::string_view>>& counts);

}  // namespace edgewise
