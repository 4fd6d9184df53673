// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "edgewise/text/line_reader.h"

namespace edgewise {

/// What becomes of a pair that a model cannot use: training goes on without it, a score must not hide it.
enum class BadPairs { kSkip, kError };

struct PairOptions {
  BadPairs bad_pairs = BadPairs::kSkip;
  std::size_t max_line_bytes = std::size_t{1} << 20;
};

/// What was read, and what became of it.
struct PairAccount {
  std::int64_t kept = 0;
  std::int64_t empty = 0;      // pairs with nothing but white space on a side
  std::int64_t bad_utf8 = 0;   // pairs with bytes that are not UTF-8
  std::int64_t nul_bytes = 0;  // pairs with a NUL byte, as binary files have
  std::int64_t too_long = 0;   // pairs with a line above max_line_bytes

  std::vector<std::string> places;  // the first five of the pairs left out: "a.en:12 is empty"

  std::int64_t carriage_returns = 0;  // lines that ended with CR LF
  std::int64_t byte_order_marks = 0;  // files that began with one

  std::int64_t skipped() const { return empty + bad_utf8 + nul_bytes + too_long; }

  /// "1 pair with an empty side, 2 with bad UTF-8"; empty when nothing was skipped.
  std::string skipped_in_words() const;
};

struct SentencePairs {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;  // as many
  PairAccount account;

  std::size_t size() const { return inputs.size(); }
};

/// Reads sentence pairs into memory: from two files, input and output with a sentence a line each, or from one TSV with
/// lines `input TAB output`. Files are read as LineReader reads them. Throws Error, naming file and line, when the two
/// files differ in their number of lines (with both numbers), a TSV line has not two fields, no pair is left, or, as
/// `options.bad_pairs` has it, at the first bad pair.
SentencePairs read_pairs(std::span<const std::string> files, const PairOptions& options = {});

}  // namespace edgewise
