// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/sentences/stop_context.h"

#include "edgewise/text/sentences/full_stop.h"
#include "edgewise/text/sentences/sentence_marks.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

bool is_apostrophe(char32_t code_point) { return code_point == U'\'' || code_point == U'’'; }

bool is_capital(char32_t code_point) { return is_letter(code_point) && lowercase_letter(code_point) != code_point; }

/// Returns where the first character begins that is neither white space nor a mark before a word.
std::size_t skip_opening_marks(std::string_view text, std::size_t offset) {
  constexpr int kMaxMarks = 16;
  for (int i = 0; i < kMaxMarks; ++i) {
    const CodePoint point = text_point_at(text, offset);
    if (point.size == 0 || !is_opening_mark(point.value)) return offset;
    offset = read_gap(text, offset + point.size).end;
  }
  return offset;
}

struct WordShape {
  std::size_t end = 0;
  int num_letters = 0;
  bool has_capital = false;
};

WordShape read_word(std::string_view text, std::size_t begin) {
  constexpr int kMaxLetters = 32;
  WordShape word{.end = begin};
  while (word.num_letters < kMaxLetters) {
    const CodePoint point = text_point_at(text, word.end);
    if (point.size == 0 || !is_word_point(point.value)) break;
    word.has_capital = word.has_capital || is_capital(point.value);
    word.end += point.size;
    ++word.num_letters;
  }
  return word;
}

/// Returns whether the word is a Dutch word without its first letters, after which the capital stands: `'s Avonds`.
bool is_short_form(std::string_view text, const NextWord& next, const WordShape& word) {
  if (word.num_letters != 1 || next.begin == 0 || !is_apostrophe(text_point_before(text, next.begin).value))
    return false;
  return is_capital(text_point_at(text, read_gap(text, word.end).end).value);
}

/// Returns whether a quote or mark that ends at `offset` can close: no letter or digit is after it.
bool can_close(std::string_view text, std::size_t offset) {
  const CodePoint next = text_point_at(text, offset);
  return next.size == 0 || is_space(next.value) || is_stop_mark(next.value) || is_closing_mark(next.value) ||
         is_two_way_quote(next.value) || next.value == U',' || next.value == U';' || next.value == U':';
}

/// Returns the end of a footnote's number, `[12]` or `²`, that begins at `begin`; `begin` if there is none.
std::size_t skip_footnote(std::string_view text, std::size_t begin) {
  constexpr std::u32string_view kSuperscripts = U"⁰¹²³⁴⁵⁶⁷⁸⁹";
  constexpr std::size_t kMaxDigits = 4;
  const CodePoint first = text_point_at(text, begin);
  if (kSuperscripts.find(first.value) != std::u32string_view::npos) return begin + first.size;
  if (first.value != U'[') return begin;
  std::size_t end = begin + 1;
  while (end - begin <= kMaxDigits && is_ascii_digit(text_point_at(text, end).value)) ++end;
  return end > begin + 1 && text_point_at(text, end).value == U']' ? end + 1 : begin;
}

class StopReader {
 public:
  StopReader(std::string_view text, std::size_t begin, bool is_quote_open)
      : text_(text), stop_{.begin = begin, .end = begin}, is_quote_open_(is_quote_open) {}

  Stop run() && {
    while (add_attached() || add_after_space()) {
    }
    return stop_;
  }

 private:
  bool add_attached() {
    const CodePoint point = text_point_at(text_, stop_.end);
    const std::size_t end = stop_.end + point.size;
    if (is_stop_mark(point.value)) return add_mark(point);
    if (is_closing_mark(point.value) || (is_two_way_quote(point.value) && can_close(text_, end))) {
      return add_closing(point.value, end);
    }
    if (is_emoji(point.value) && can_close(text_, end)) return add_emoji(end);
    const std::size_t footnote_end = skip_footnote(text_, stop_.end);
    const bool has_footnote = footnote_end > stop_.end;
    stop_.end = footnote_end;
    return has_footnote;
  }

  /// Adds a mark that white space separates from the stop, as in French and in text that was split into tokens:
  /// `« Stop. »`.
  bool add_after_space() {
    const Gap gap = read_gap(text_, stop_.end);
    if (gap.end == stop_.end || gap.line_breaks > 0) return false;
    const CodePoint point = text_point_at(text_, gap.end);
    const std::size_t end = gap.end + point.size;
    if (point.size == 0 || !can_close(text_, end)) return false;
    if (is_stop_mark(point.value)) {
      stop_.end = gap.end;
      return add_mark(point);
    }
    if (is_emoji(point.value)) return add_emoji(end);
    const bool closes = is_closing_mark(point.value) || point.value == U'»' || (point.value == U'"' && is_quote_open_);
    return closes && add_closing(point.value, end);
  }

  bool add_mark(CodePoint point) {
    if (point.value == U'.') ++stop_.num_points;
    stop_.is_clear = stop_.is_clear || is_clear_stop_mark(point.value);
    stop_.is_wide = stop_.is_wide || is_wide_stop_mark(point.value);
    stop_.is_ellipsis =
        stop_.is_ellipsis || stop_.num_points > 1 || !(is_clear_stop_mark(point.value) || point.value == U'.');
    stop_.end += point.size;
    return true;
  }

  bool add_emoji(std::size_t end) {
    stop_.end = end;
    return true;
  }

  bool add_closing(char32_t mark, std::size_t end) {
    if (mark == U'"') is_quote_open_ = !is_quote_open_;
    stop_.has_closing = true;
    stop_.end = end;
    return true;
  }

  std::string_view text_;
  Stop stop_;
  bool is_quote_open_;
};

/// Returns whether hiragana after a Japanese stop continue the sentence around a quote: `「はい。」と言った。`
bool continues_quote(const Stop& stop, char32_t next) {
  constexpr std::u32string_view kParticles = U"とっなのはがをにもでやかへよ";
  if (stop.has_closing) return kParticles.find(next) != std::u32string_view::npos;
  return next == U'と';
}

bool ends_without_gap(std::string_view text, const Stop& stop, const NextWord& next) {
  const char32_t before = text_point_before(text, stop.begin).value;
  const char32_t after = text_point_at(text, stop.end).value;
  if (stop.is_wide) return !continues_quote(stop, after) && !(is_number(before) && is_number(after));
  if (!is_wide_letter(next.first) || stop.is_ellipsis) return false;
  return stop.is_clear || is_wide_letter(before);
}

/// Returns whether a stop before a word that begins with a lower-case letter ends the sentence: only in text without
/// capitals.
bool ends_before_lowercase(std::string_view text, const Stop& stop, const SentenceContext& sentence,
                           const NextWord& next, const AbbreviationRules& rules) {
  if (!sentence.begins_lowercase || stop.has_closing) return false;
  if (stop.is_clear) return true;
  return !stop.is_ellipsis && !is_abbreviation(text, stop.begin, sentence, next, rules);
}

}  // namespace

NextWord find_next_word(std::string_view text, std::size_t offset) {
  NextWord next;
  const Gap gap = read_gap(text, offset);
  next.is_after_space = gap.end > offset;
  next.begin = skip_opening_marks(text, gap.end);
  next.first = text_point_at(text, next.begin).value;
  const WordShape word = read_word(text, next.begin);
  next.text = text.substr(next.begin, word.end - next.begin);
  const char32_t after = text_point_at(text, word.end).value;
  next.has_apostrophe = is_apostrophe(after);
  next.is_initial = word.num_letters == 1 && is_letter(next.first) && after == U'.';
  next.is_lowercase = is_lowercase(next.first) && !word.has_capital && !is_short_form(text, next, word);
  return next;
}

Gap read_gap(std::string_view text, std::size_t begin) {
  Gap gap{.end = begin};
  char32_t before = 0;
  for (CodePoint point = text_point_at(text, begin); point.size > 0 && is_space(point.value);
       point = text_point_at(text, gap.end)) {
    const bool is_second_of_pair = before == U'\r' && point.value == U'\n';
    if (is_line_break(point.value) && !is_second_of_pair) ++gap.line_breaks;
    gap.has_tab = gap.has_tab || point.value == U'\t';
    before = point.value;
    gap.end += point.size;
  }
  return gap;
}

std::size_t skip_list_mark(std::string_view text, std::size_t begin) {
  constexpr std::u32string_view kBullets = U"-*+•–—‣◦▪·";
  constexpr std::size_t kMaxDigits = 3;
  std::size_t end = begin;
  CodePoint point = text_point_at(text, end);
  if (kBullets.find(point.value) == std::u32string_view::npos) {
    while (end - begin < kMaxDigits && is_ascii_digit(text_point_at(text, end).value)) ++end;
    point = text_point_at(text, end);
    if (end == begin || (point.value != U'.' && point.value != U')')) return begin;
  }
  const Gap gap = read_gap(text, end + point.size);
  return gap.end > end + point.size ? gap.end : begin;
}

Stop read_stop(std::string_view text, std::size_t begin, bool is_quote_open) {
  return StopReader(text, begin, is_quote_open).run();
}

bool is_sentence_end(std::string_view text, const Stop& stop, const SentenceContext& sentence,
                     const AbbreviationRules& rules) {
  const NextWord next = find_next_word(text, stop.end);
  if (next.begin == text.size()) return true;
  if (!next.is_after_space) return ends_without_gap(text, stop, next);
  if (stop.is_wide) return true;
  if (next.is_lowercase) return ends_before_lowercase(text, stop, sentence, next, rules);
  if (stop.is_clear) return !is_name_with_mark(text, stop.begin, rules);
  if (stop.is_ellipsis) return !repeats_word(text, stop.begin, next);
  return is_full_stop(text, stop.begin, sentence, next, rules);
}

}  // namespace edgewise
