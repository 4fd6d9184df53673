// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/sentences/protected_spans.h"

#include <algorithm>
#include <utility>

#include "edgewise/base/ascii.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/sentences/sentence_marks.h"
#include "edgewise/text/sentences/span_patterns.h"
#include "edgewise/text/sentences/text_scan.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

constexpr std::size_t kLongestPair = 400;  // bytes between the marks of a pair

/// Returns the number of equal bytes from an offset on.
std::size_t run_length(std::string_view text, std::size_t begin) {
  return std::min(text.find_first_not_of(byte_or_zero(text, begin), begin), text.size()) - begin;
}

/// Returns whether two characters beside each other belong to one word: not if a script without spaces meets another.
bool joins_words(char32_t before, char32_t after) {
  if (!is_word_point(before) || !is_word_point(after)) return false;
  return before < 0x80 || after >= 0x80 || !has_letters_without_spaces(before);
}

/// Reads a text from its beginning to its end.
class SpanReader {
 public:
  explicit SpanReader(std::string_view text) : text_(text), limit_(text.size()) {}

  std::vector<ProtectedSpan> run() {
    while (offset_ < text_.size()) {
      if (!closing_.empty() && offset_ >= closing_.back().bytes.begin) {
        close_pair();
      } else if (!read_span()) {
        pass();
      }
    }
    join_tags();
    return std::move(spans_);
  }

 private:
  /// The second mark of a pair whose first mark was read.
  struct Closing {
    ByteRange bytes;
    std::size_t partner;
  };

  /// Returns the text up to the mark that closes the innermost pair.
  std::string_view view() const { return text_.substr(0, limit_); }

  void add(std::size_t end) {
    spans_.push_back({{offset_, end}});
    offset_ = end;
  }

  bool try_pattern(std::size_t (*find)(std::string_view, std::size_t)) {
    const std::size_t end = find(view(), offset_);
    if (end == offset_) return false;
    add(end);
    return true;
  }

  bool read_span() {
    const CodePoint point = text_point_at(text_, offset_);
    if (is_space(point.value)) return false;
    const bool is_after_word = joins_words(text_point_before(text_, offset_).value, point.value);
    if (is_after_word) return read_mark(point.value);
    return try_pattern(find_address_end) || try_pattern(find_code_name_end) || try_pattern(find_number_end) ||
           read_mark(point.value) || read_emphasis() || try_pattern(find_long_run_end);
  }

  bool read_mark(char32_t first) {
    switch (first) {
      case U'`':
        return read_code();
      case U'<':
        return try_pattern(find_tag_end);
      case U'!':
        return byte_or_zero(text_, offset_ + 1) == '[' && read_link(2);
      case U'[':
        return try_pattern(find_mention_end) || read_link(1);
      default:
        return try_pattern(find_symbol_end) || try_pattern(find_placeholder_end) || try_pattern(find_mention_end);
    }
  }

  bool read_code() {
    const std::size_t length = run_length(view(), offset_);
    const std::string_view rest = view().substr(offset_ + length, kLongestPair);
    for (std::size_t i = rest.find('`'); i != std::string_view::npos; i = rest.find('`', i)) {
      const std::size_t closing = run_length(rest, i);
      if (closing == length) {
        add(offset_ + length + i + closing);
        return true;
      }
      i += closing;
    }
    return false;
  }

  void open_pair(std::size_t end, ByteRange closing) {
    closing_.push_back({closing, spans_.size()});
    limit_ = closing.begin;
    add(end);
  }

  void close_pair() {
    const Closing closing = closing_.back();
    closing_.pop_back();
    limit_ = closing_.empty() ? text_.size() : closing_.back().bytes.begin;
    spans_[closing.partner].partner = spans_.size();
    spans_.push_back({closing.bytes, closing.partner});
    offset_ = closing.bytes.end;
  }

  /// `[words](address)`, `![words](address)`, `[words][name]`.
  bool read_link(std::size_t opening) {
    const std::string_view rest = view().substr(offset_ + opening, kLongestPair);
    std::size_t depth = 0;
    std::size_t end = 0;
    for (; end < rest.size() && (depth > 0 || rest[end] != ']'); ++end) {
      if (rest[end] == '[') ++depth;
      if (rest[end] == ']') --depth;
    }
    const char bracket = byte_or_zero(rest, end + 1);
    if (end >= rest.size() || end == 0 || (bracket != '(' && bracket != '[')) return false;
    const std::size_t after = rest.find(bracket == '(' ? ')' : ']', end + 2);
    if (after == std::string_view::npos || rest.substr(end, after - end).find('\n') != std::string_view::npos)
      return false;
    const std::size_t begin = offset_ + opening;
    open_pair(begin, {begin + end, begin + after + 1});
    return true;
  }

  /// `**words**`, `_words_`, `~~words~~`.
  bool read_emphasis() {
    const char mark = text_[offset_];
    const std::size_t length = run_length(view(), offset_);
    const std::size_t begin = offset_ + length;
    const bool is_strike = mark == '~';
    const bool is_mark = is_strike || mark == '*' || mark == '_';
    if (!is_mark || length > 3 || (is_strike && length != 2) || begin >= limit_ ||
        is_space(text_point_at(text_, begin).value)) {
      return false;
    }
    const std::string_view rest = view().substr(begin, kLongestPair);
    for (std::size_t i = rest.find(mark); i != std::string_view::npos; i = rest.find(mark, i)) {
      const std::size_t closing = run_length(rest, i);
      const bool is_after_space = is_space(text_point_before(rest, i).value);
      const bool is_before_word = is_word_point(text_point_at(text_, begin + i + closing).value);
      if (closing == length && i > 0 && !is_after_space && !is_before_word) {
        open_pair(begin, {begin + i, begin + i + closing});
        return true;
      }
      i += closing;
    }
    return false;
  }

  /// Passes a word, or a single character.
  void pass() {
    const std::size_t end = limit_ > offset_ ? limit_ : text_.size();
    CodePoint point = text_point_at(text_, offset_);
    offset_ += point.size;
    if (!is_word_point(point.value)) return;
    while (offset_ < end) {
      const CodePoint next = text_point_at(text_, offset_);
      if (!joins_words(point.value, next.value)) return;
      point = next;
      offset_ += next.size;
    }
  }

  /// Makes pairs of start tags and end tags.
  void join_tags() {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      const std::string_view tag = text_.substr(spans_[i].bytes.begin, spans_[i].bytes.size());
      if (!tag.starts_with('<') || tag.ends_with("/>")) continue;
      if (!tag.starts_with("</")) {
        open.push_back(i);
        continue;
      }
      const std::string_view name = tag.substr(2, tag.size() - 3);
      for (std::size_t k = open.size(); k-- > 0;) {
        const std::string_view start = text_.substr(spans_[open[k]].bytes.begin + 1);
        const bool is_same = start.starts_with(name) && !is_letter_of_ascii(byte_or_zero(start, name.size()));
        if (!is_same) continue;
        spans_[open[k]].partner = i;
        spans_[i].partner = open[k];
        open.resize(k);
        break;
      }
    }
  }

  std::string_view text_;
  std::size_t limit_;  // beginning of the mark that closes the innermost pair
  std::size_t offset_ = 0;
  std::vector<Closing> closing_;
  std::vector<ProtectedSpan> spans_;
};

/// Returns the length of the letters and digits at the end of a text if they are a part of a formula: at most two,
/// digits or a symbol that begins with a capital.
bool is_formula_part(std::string_view word) {
  if (word.empty() || count_code_points(word) > 2) return false;
  const char first = word.front();
  return is_digit_of_ascii(first) || (first >= 'A' && first <= 'Z');
}

std::string_view word_before(std::string_view text, std::size_t end) {
  std::size_t begin = end;
  while (begin > 0) {
    const CodePoint point = text_point_before(text, begin);
    if (!is_word_point(point.value)) break;
    begin -= point.size;
  }
  return text.substr(begin, end - begin);
}

std::string_view word_after(std::string_view text, std::size_t begin) {
  std::size_t end = begin;
  for (CodePoint point = text_point_at(text, end); is_word_point(point.value); point = text_point_at(text, end)) {
    end += point.size;
  }
  return text.substr(begin, end - begin);
}

/// Joins the spans of objects and the letters between them that are one formula: `H\uFFFCO`.
std::vector<ProtectedSpan> join_formulas(std::string_view text, const std::vector<ProtectedSpan>& spans) {
  std::vector<ProtectedSpan> joined;
  std::vector<std::size_t> numbers;  // indices of the given spans among the joined ones
  bool is_formula = false;           // whether the last one is a formula
  for (const auto& [bytes, partner] : spans) {
    ByteRange range = bytes;
    const bool is_object = text.substr(bytes.begin, bytes.size()) == kObjectCharacter;
    const std::string_view before = is_object ? word_before(text, bytes.begin) : std::string_view();
    const std::string_view after = is_object ? word_after(text, bytes.end) : std::string_view();
    const bool joins = is_formula_part(before) && is_formula_part(after);
    if (joins) range = {bytes.begin - before.size(), bytes.end + after.size()};
    const std::size_t end = joined.empty() ? 0 : joined.back().bytes.end;
    if (end > range.begin || (is_object && is_formula && end == range.begin)) {
      joined.back().bytes.end = range.end;
      is_formula = is_formula || joins;
    } else {
      joined.push_back({range, partner});
      is_formula = joins;
    }
    numbers.push_back(joined.size() - 1);
  }
  for (ProtectedSpan& span : joined) {
    if (span.partner) span.partner = numbers[*span.partner];
  }
  return joined;
}

bool is_indicator(char32_t point) { return point == U'ª' || point == U'º'; }

bool has_number(std::string_view text) {
  bool found = false;
  for_each_code_point(text, [&](CodePoint point, std::size_t) { found = found || is_number(point.value); });
  return found;
}

bool has_letter(std::string_view text) {
  bool found = false;
  for_each_code_point(text, [&](CodePoint point, std::size_t) {
    found = found || point.size == 0 || (is_letter(point.value) && !is_indicator(point.value));
  });
  return found;
}

/// Returns the text from its first to its last letter or number.
std::string_view trim_marks(std::string_view text) {
  std::size_t begin = text.size();
  std::size_t end = 0;
  for_each_code_point(text, [&](CodePoint point, std::size_t offset) {
    if (point.size > 0 && !is_word_point(point.value)) return;
    begin = std::min(begin, offset);
    end = offset + std::max<std::size_t>(point.size, 1);
  });
  return text.substr(std::min(begin, end), end - std::min(begin, end));
}

/// Returns whether a part of a text between white space is a word; `is_in_numbers`: the text has a number.
bool is_word(std::string_view part, bool is_in_numbers) {
  if (!has_letter(part)) return false;
  const std::string_view core = trim_marks(part);
  if (find_bad_utf8(core)) return true;
  if (is_code(core)) return false;
  // The symbol of a unit may follow its number directly.
  const std::size_t letters = std::min(core.find_first_not_of("0123456789.,"), core.size());
  const std::string_view unit = core.substr(letters);
  const bool is_decade = letters > 0 && unit == "s";  // `1990s`
  return !is_in_numbers || is_decade || !is_unit(unit);
}

/// Returns whether a joiner after the letter changes how the script is written.
bool needs_joiners(char32_t letter) {
  constexpr char32_t kFirst = 0x0600;  // Arabic; the scripts before it have no joiners
  return letter >= kFirst && (is_letter(letter) || is_mark(letter));
}

bool is_removed(char32_t point, char32_t before) {
  if (point == 0x200C || point == 0x200D) return !needs_joiners(before);
  const bool is_direction = point == 0x061C || point == 0x200E || point == 0x200F ||
                            (point >= 0x202A && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069);
  const bool is_selector = (point >= 0xFE00 && point <= 0xFE0F) || (point >= 0xE0100 && point <= 0xE01EF);
  return point == 0xAD || point == 0x34F || point == 0x200B || (point >= 0x2060 && point <= 0x2064) ||
         point == 0xFEFF || is_direction || is_selector;
}

}  // namespace

std::vector<ProtectedSpan> find_protected_spans(std::string_view text) {
  return join_formulas(text, SpanReader(text).run());
}

bool needs_translation(std::string_view text) { return needs_translation(text, find_protected_spans(text)); }

bool needs_translation(std::string_view text, std::span<const ProtectedSpan> spans) {
  const bool is_in_numbers = has_number(text);
  const auto has_word = [&](std::string_view rest) {
    return std::ranges::any_of(split_words(rest), [&](std::string_view part) { return is_word(part, is_in_numbers); });
  };
  std::size_t end = 0;
  for (const ProtectedSpan& span : spans) {
    if (has_word(text.substr(end, span.bytes.begin - end))) return true;
    end = span.bytes.end;
  }
  return has_word(text.substr(end));
}

std::string remove_invisible(std::string_view text) {
  std::string visible;
  char32_t before = 0;
  for_each_code_point(text, [&](CodePoint point, std::size_t offset) {
    if (point.size > 0 && is_removed(point.value, before)) return;
    visible += text.substr(offset, std::max<std::size_t>(point.size, 1));
    before = point.value;
  });
  return visible;
}

}  // namespace edgewise
