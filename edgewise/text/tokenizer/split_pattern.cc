// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/tokenizer/split_pattern.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "edgewise/base/config/fields.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

constexpr std::array kExpressions = {
    EnumName{SplitPattern::kGpt2, R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"},
    EnumName{SplitPattern::kGpt2, R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"},
    EnumName{SplitPattern::kLlama3,
             R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|)"
             R"(\s+(?!\S)|\s+)"},
    EnumName{SplitPattern::kLlama3,
             R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|)"
             R"(\s+(?!\S)|\s+)"},
    EnumName{SplitPattern::kQwen2,
             R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|)"
             R"(\s+(?!\S)|\s+)"}};

/// The classes of code points that the patterns distinguish.
enum class PointClass { kLetter, kNumber, kSpace, kNewline, kOther };

PointClass class_of_point(char32_t point) {
  if (point < 0x80) {
    if ((point >= 'a' && point <= 'z') || (point >= 'A' && point <= 'Z')) return PointClass::kLetter;
    if (point >= '0' && point <= '9') return PointClass::kNumber;
    if (point == '\n' || point == '\r') return PointClass::kNewline;
    return point == ' ' || (point >= '\t' && point <= '\f') ? PointClass::kSpace : PointClass::kOther;
  }
  if (is_letter(point)) return PointClass::kLetter;
  if (is_number(point)) return PointClass::kNumber;
  return is_white_space(point) ? PointClass::kSpace : PointClass::kOther;
}

/// Finds one match after another. Each function tries an alternative of the patterns at an offset, and returns the end
/// of its match, or the offset itself if it does not match.
class WordMatcher {
 public:
  WordMatcher(std::string_view text, SplitPattern pattern) : text_(text), pattern_(pattern) {}

  std::size_t match(std::size_t begin) const {
    if (const std::size_t end = match_contraction(begin); end > begin) return end;
    if (const std::size_t end = match_letters(begin); end > begin) return end;
    if (const std::size_t end = match_numbers(begin); end > begin) return end;
    if (const std::size_t end = match_others(begin); end > begin) return end;
    return match_spaces(begin);
  }

 private:
  struct ClassedPoint {
    PointClass kind = PointClass::kOther;
    std::size_t size = 0;  // bytes; 0 at the end of the text
  };

  bool is_gpt2() const { return pattern_ == SplitPattern::kGpt2; }

  ClassedPoint at(std::size_t offset) const {
    if (offset >= text_.size()) return {};
    const CodePoint point = code_point_at(text_, offset);
    return {class_of_point(point.value), std::max<std::size_t>(point.size, 1)};
  }

  /// Returns the end of at most `most` code points of a class.
  std::size_t end_of_run(std::size_t begin, PointClass kind, std::size_t most = SIZE_MAX) const {
    for (; most > 0; --most) {
      const ClassedPoint point = at(begin);
      if (point.size == 0 || point.kind != kind) break;
      begin += point.size;
    }
    return begin;
  }

  /// Returns the letter of ASCII at an offset in lower case. All patterns but GPT-2's ignore case, in which U+017F,
  /// the long s, is an s.
  ClassedPoint fold(std::size_t offset, char& letter) const {
    if (offset >= text_.size()) return {};
    const CodePoint point = code_point_at(text_, offset);
    constexpr char32_t kLongS = 0x17F;
    char32_t folded = point.value;
    if (!is_gpt2() && folded >= 'A' && folded <= 'Z') folded += 'a' - 'A';
    if (!is_gpt2() && folded == kLongS) folded = 's';
    letter = folded < 0x80 ? static_cast<char>(folded) : '\0';
    return {PointClass::kLetter, point.size};
  }

  std::size_t match_contraction(std::size_t begin) const {
    if (begin >= text_.size() || text_[begin] != '\'') return begin;
    char first = 0, second = 0;
    const ClassedPoint one = fold(begin + 1, first);
    if (one.size == 0) return begin;
    const std::size_t end = begin + 1 + one.size;
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return end;
    const ClassedPoint two = fold(end, second);
    const bool is_pair =
        (first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l');
    return two.size > 0 && is_pair ? end + two.size : begin;
  }

  /// Returns the offset after the character that may stand before a word: a space, or, in all patterns but GPT-2's,
  /// any character but letters, numbers and ends of lines.
  std::size_t skip_before_letters(std::size_t begin) const {
    if (is_gpt2()) return skip_space(begin);
    const ClassedPoint first = at(begin);
    return first.kind == PointClass::kSpace || first.kind == PointClass::kOther ? begin + first.size : begin;
  }

  std::size_t skip_space(std::size_t begin) const {
    return begin < text_.size() && text_[begin] == ' ' ? begin + 1 : begin;
  }

  std::size_t match_letters(std::size_t begin) const {
    const std::size_t first = skip_before_letters(begin);
    const std::size_t end = end_of_run(first, PointClass::kLetter);
    return end > first ? end : begin;
  }

  std::size_t match_numbers(std::size_t begin) const {
    constexpr std::size_t kMostDigitsOfLlama3 = 3;
    if (pattern_ == SplitPattern::kLlama3) return end_of_run(begin, PointClass::kNumber, kMostDigitsOfLlama3);
    if (pattern_ == SplitPattern::kQwen2) return end_of_run(begin, PointClass::kNumber, 1);
    const std::size_t first = skip_space(begin);
    const std::size_t end = end_of_run(first, PointClass::kNumber);
    return end > first ? end : begin;
  }

  std::size_t match_others(std::size_t begin) const {
    const std::size_t first = skip_space(begin);
    const std::size_t end = end_of_run(first, PointClass::kOther);
    if (end == first) return begin;
    return is_gpt2() ? end : end_of_run(end, PointClass::kNewline);
  }

  /// Matches white space: up to the last end of a line, if the pattern has this alternative, or else all but the last
  /// character before text, which the next word may take.
  std::size_t match_spaces(std::size_t begin) const {
    std::size_t end = begin, last = begin, after_newline = begin;
    for (ClassedPoint point = at(end);
         point.size > 0 && (point.kind == PointClass::kSpace || point.kind == PointClass::kNewline); point = at(end)) {
      last = end;
      end += point.size;
      if (point.kind == PointClass::kNewline) after_newline = end;
    }
    if (!is_gpt2() && after_newline > begin) return after_newline;
    return end == text_.size() || last == begin ? end : last;
  }

  std::string_view text_;
  SplitPattern pattern_;
};

}  // namespace

std::optional<SplitPattern> find_split_pattern(std::string_view expression) {
  const auto found = std::ranges::find(kExpressions, expression, &EnumName<SplitPattern>::name);
  return found != kExpressions.end() ? std::optional(found->value) : std::nullopt;
}

std::vector<ByteRange> match_words(std::string_view text, SplitPattern pattern) {
  const WordMatcher matcher(text, pattern);
  std::vector<ByteRange> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = matcher.match(begin);
    words.push_back({begin, end});
    begin = end;
  }
  return words;
}

}  // namespace edgewise
