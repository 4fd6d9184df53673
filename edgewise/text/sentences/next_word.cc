// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/sentences/next_word.h"

#include "edgewise/text/sentences/sentence_marks.h"
#include "edgewise/text/sentences/stop_context.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

bool is_apostrophe(char32_t code_point) { return code_point == U'\'' || code_point == U'’'; }

bool is_word_character(char32_t code_point) {
  return is_letter(code_point) || is_mark(code_point) || is_number(code_point);
}

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
    if (point.size == 0 || !is_word_character(point.value)) break;
    word.has_capital = word.has_capital || is_capital(point.value);
    word.end += point.size;
    ++word.num_letters;
  }
  return word;
}

/// Returns whether the word is a Dutch word without its first letters, behind which the capital stands: `'s Avonds`.
bool is_short_form(std::string_view text, const NextWord& next, const WordShape& word) {
  if (word.num_letters != 1 || next.begin == 0 || !is_apostrophe(text_point_before(text, next.begin).value))
    return false;
  return is_capital(text_point_at(text, read_gap(text, word.end).end).value);
}

}  // namespace

NextWord find_next_word(std::string_view text, std::size_t offset) {
  NextWord next;
  const Gap gap = read_gap(text, offset);
  next.is_behind_space = gap.end > offset;
  next.begin = skip_opening_marks(text, gap.end);
  next.first = text_point_at(text, next.begin).value;
  const WordShape word = read_word(text, next.begin);
  next.text = text.substr(next.begin, word.end - next.begin);
  const char32_t behind = text_point_at(text, word.end).value;
  next.has_apostrophe = is_apostrophe(behind);
  next.is_initial = word.num_letters == 1 && is_letter(next.first) && behind == U'.';
  next.is_lowercase = is_lowercase(next.first) && !word.has_capital && !is_short_form(text, next, word);
  return next;
}

}  // namespace edgewise
