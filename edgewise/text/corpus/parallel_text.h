// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/text/corpus/line_reader.h"
#include "edgewise/text/metrics/word_alignment.h"

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

/// Treatment of pairs that a model cannot use: training skips them, evaluation must report an error.
enum class BadPairs { kSkip, kError };

/// Treatment of bytes that are not UTF-8: skip the pair, report an error, or replace the bytes by U+FFFD.
enum class BadUtf8 { kSkip, kError, kReplace };

inline constexpr auto enum_names(BadUtf8) {
  return std::array{EnumName{BadUtf8::kSkip, "skip"}, EnumName{BadUtf8::kError, "error"},
                    EnumName{BadUtf8::kReplace, "replace"}};
}

/// Treatment of pairs whose output equals their input.
enum class SameSides { kKeep, kSkip };

inline constexpr auto enum_names(SameSides) {
  return std::array{EnumName{SameSides::kKeep, "keep"}, EnumName{SameSides::kSkip, "skip"}};
}

struct PairOptions {
  BadPairs bad_pairs = BadPairs::kSkip;
  BadUtf8 bad_utf8 = BadUtf8::kSkip;
  SameSides same_sides = SameSides::kKeep;
  bool has_links = false;  // whether a line of the last file has the links between the words of each pair
  std::size_t max_line_bytes = std::size_t{1} << 20;
};

/// Throws Error unless `count`, without a file of links, is 1 (a TSV file) or 2 (two files with a sentence on each
/// line).
void check_num_files(std::size_t count);

/// Returns the options for reading the lines of pairs; error messages begin with "read_pairs".
LineReaderOptions line_options(const PairOptions& options);

/// Reads the pairs of one TSV (`input TAB output`), or of two files with a sentence on each line, and counts the pairs
/// that a model cannot use. A file of links has a line such as `0-0 1-2` for each pair, whose words are what white
/// space separates.
class PairReader {
 public:
  /// Takes one reader of a TSV, or two readers at the same line of their files; then the reader of the links, if the
  /// options have them.
  PairReader(std::vector<LineReader> readers, const PairOptions& options);

  /// Reads the next pair; returns false at the end. Throws Error if one file ends before the other (with the line
  /// counts of both), if a TSV line does not have two fields, for links of words that a usable pair does not have, and
  /// for unusable pairs if the options require it.
  bool next();

  /// Returns whether a model can use the pair that was read last.
  bool is_usable() const { return is_usable_; }

  // Return the pair that was read last; the original bytes if it is not usable.
  const std::string& input() const { return input_; }
  const std::string& output() const { return output_; }
  const std::string& link_line() const { return link_line_; }

  /// Returns the links of the usable pair that was read last, in ascending order without repetitions.
  const std::vector<WordLink>& links() const { return links_; }

  /// Returns the offset of the next line in each file.
  std::vector<std::int64_t> offsets() const;

  std::int64_t line_number() const { return readers_.front().line_number(); }

  /// Returns the counts of the pairs read so far.
  PairReport report() const;

  /// Returns the name of the corpus for messages.
  std::string name() const;

 private:
  struct Fault;

  bool read_lines();
  bool read_tsv_line();
  bool find_fault(std::string& text, std::size_t side, Fault& fault);
  bool find_faults(Fault& fault);
  void skip(const Fault& fault);
  void read_link_line(bool has_pair);
  void parse_links();

  std::vector<LineReader> readers_;
  std::optional<LineReader> link_reader_;
  PairOptions options_;
  PairReport report_;
  std::string input_;
  std::string output_;
  std::string link_line_;
  std::vector<WordLink> links_;
  bool is_usable_ = false;
};

struct SentencePairs {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;  // outputs[i] translates inputs[i]
  PairReport report;
  std::vector<std::vector<WordLink>> links = {};  // [pairs]; empty without a file of links

  std::size_t size() const { return inputs.size(); }
};

/// Reads the usable sentence pairs of a corpus into memory, as PairReader does, and throws its errors. Also throws
/// Error if there is no usable pair.
SentencePairs read_pairs(std::span<const std::string> files, const PairOptions& options = {});

/// Throws Error, with the counts of skipped pairs, for a corpus without usable pairs.
void check_pairs_left(const PairReport& report, const std::string& name);

}  // namespace edgewise
