// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/base/fields.h"
#include "edgewise/text/line_reader.h"
#include "edgewise/text/pair_account.h"

namespace edgewise {

/// What becomes of a pair that a model cannot use: training goes on without it, a score must not hide it.
enum class BadPairs { kSkip, kError };

/// What becomes of bytes that are not UTF-8: the pair is left out, it is an error, or they become U+FFFD.
enum class BadUtf8 { kSkip, kError, kReplace };

inline constexpr auto enum_names(BadUtf8) {
  return std::array{EnumName<BadUtf8>{BadUtf8::kSkip, "skip"}, EnumName<BadUtf8>{BadUtf8::kError, "error"},
                    EnumName<BadUtf8>{BadUtf8::kReplace, "replace"}};
}

/// What becomes of a pair whose output is its input.
enum class SameSides { kKeep, kSkip };

inline constexpr auto enum_names(SameSides) {
  return std::array{EnumName<SameSides>{SameSides::kKeep, "keep"}, EnumName<SameSides>{SameSides::kSkip, "skip"}};
}

struct PairOptions {
  BadPairs bad_pairs = BadPairs::kSkip;
  BadUtf8 bad_utf8 = BadUtf8::kSkip;
  SameSides same_sides = SameSides::kKeep;
  std::size_t max_line_bytes = std::size_t{1} << 20;
};

/// Throws Error for another number of files than a corpus has: one TSV, or two with a sentence a line.
void check_num_files(std::size_t count);

/// As pairs are read; errors begin with "read_pairs".
LineReaderOptions line_options(const PairOptions& options);

/// Goes through the pairs of one TSV (`input TAB output`), or of two files with a sentence a line, and keeps account of
/// those that a model cannot use.
class PairReader {
 public:
  /// One reader of a TSV, or two of the same place.
  PairReader(std::vector<LineReader> readers, const PairOptions& options);

  /// Reads on; false at the end. Throws Error when one file ends before the other (with the lines of both), a TSV line
  /// has not two fields, or, where the options say so, at a bad pair.
  bool next();

  /// Whether the pair that was read last can be used.
  bool is_usable() const { return is_usable_; }

  // The pair that was read last. Of one that cannot be used, the bytes as they are.
  const std::string& input() const { return input_; }
  const std::string& output() const { return output_; }

  /// Where each file's next line begins.
  std::vector<std::int64_t> offsets() const;

  std::int64_t line_number() const { return readers_.front().line_number(); }

  /// Of what was read up to here.
  PairAccount account() const;

  /// What errors and reports call the corpus.
  std::string name() const;

 private:
  struct Fault;

  bool read_lines();
  bool read_tsv_line();
  bool find_fault(std::string& text, std::size_t side, Fault& fault);
  bool find_faults(Fault& fault);
  void leave_out(const Fault& fault);

  std::vector<LineReader> readers_;
  PairOptions options_;
  PairAccount account_;
  std::string input_;
  std::string output_;
  bool is_usable_ = false;
};

}  // namespace edgewise
