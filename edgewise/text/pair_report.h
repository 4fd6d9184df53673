// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace edgewise {

/// Counts of the sentence pairs of a corpus: used, skipped and repaired.
struct PairReport {
  std::int64_t kept = 0;
  std::int64_t kept_identical = 0;  // kept pairs whose output equals their input
  std::int64_t empty = 0;           // skipped pairs with only white space on a side
  std::int64_t bad_utf8 = 0;        // skipped pairs that are not UTF-8
  std::int64_t nul_bytes = 0;       // skipped pairs with a NUL byte, as in binary files
  std::int64_t too_long = 0;        // skipped pairs with a line above max_line_bytes
  std::int64_t identical = 0;       // skipped pairs whose output equals their input

  std::vector<std::string> first_skipped;  // reasons of the first five: "a.en:12 is empty"

  std::int64_t carriage_returns = 0;  // lines that ended with CR LF
  std::int64_t byte_order_marks = 0;  // files that began with a byte order mark
  std::int64_t replaced = 0;          // sentences whose invalid bytes became U+FFFD

  std::int64_t num_skipped() const { return empty + bad_utf8 + nul_bytes + too_long + identical; }

  /// Returns "1 pair with an empty side, 2 with bad UTF-8"; empty if nothing was skipped.
  std::string describe_skipped() const;

  /// Returns "3 lines ended with CR LF"; empty if nothing was repaired.
  std::string describe_repairs() const;

  /// Returns warnings about files that may not be translations: more than half of the kept pairs have equal sides, as
  /// when one file is given twice, or more than 1 % of all pairs have NUL bytes, as in binary files. Usually empty.
  std::string describe_doubts() const;
};

/// Lists the counts that are not 0: "3 pairs with …, 1 with …".
std::string describe_counts(std::string_view noun,
                            const std::vector<std::pair<std::int64_t, std::string_view>>& counts);

}  // namespace edgewise
