// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/sentences/full_stop.h"

#include <algorithm>
#include <string>
#include <vector>

#include "edgewise/text/sentences/sentence_marks.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

/// A word before a stop.
struct PreviousWord {
  std::size_t begin = 0;
  std::string_view text;
};

bool is_inside_word(char32_t code_point) {
  constexpr std::u32string_view kMarks = U".-'’&/@";
  if (kMarks.find(code_point) != std::u32string_view::npos) return true;
  return (is_letter(code_point) && !is_wide_letter(code_point)) || is_mark(code_point) || is_number(code_point);
}

PreviousWord previous_word(std::string_view text, std::size_t end) {
  constexpr std::size_t kMaxBytes = 64;
  std::size_t begin = end;
  while (end - begin < kMaxBytes) {
    const CodePoint point = text_point_before(text, begin);
    if (point.size == 0 || !is_inside_word(point.value)) break;
    begin -= point.size;
  }
  return {begin, text.substr(begin, end - begin)};
}

/// Returns the offset before the white space that ends at `end`; `end` if the white space is long or has a line break.
std::size_t skip_gap_back(std::string_view text, std::size_t end) {
  constexpr int kMaxSpaces = 4;
  std::size_t begin = end;
  for (int i = 0; i < kMaxSpaces; ++i) {
    const CodePoint point = text_point_before(text, begin);
    if (point.size == 0 || !is_space(point.value) || is_line_break(point.value)) return begin;
    begin -= point.size;
  }
  return end;
}

/// Returns the part of a compound after its last hyphen, apostrophe or slash.
std::string_view last_part(std::string_view word) {
  const std::size_t ascii = word.find_last_of("-'/");
  if (ascii != std::string_view::npos) word = word.substr(ascii + 1);
  constexpr std::string_view kApostrophe = "’";
  const std::size_t apostrophe = word.rfind(kApostrophe);
  return apostrophe == std::string_view::npos ? word : word.substr(apostrophe + kApostrophe.size());
}

/// Returns the word without white space after its inner full stops, joined with the short words with full stops before
/// it: `B`, `z.B`.
std::vector<std::string> chain_words(std::string_view text, const PreviousWord& word) {
  constexpr std::size_t kMaxWords = 4;
  constexpr std::size_t kMaxBytes = 8;
  std::vector<std::string> chain = {std::string(word.text)};
  std::size_t begin = word.begin;
  while (chain.size() < kMaxWords) {
    const std::size_t end = skip_gap_back(text, begin);
    if (end == begin || text_point_before(text, end).value != U'.') break;
    const PreviousWord before = previous_word(text, end - 1);
    if (before.text.empty() || before.text.size() > kMaxBytes) break;
    chain.push_back(std::string(before.text) + "." + chain.back());
    begin = before.begin;
  }
  return chain;
}

/// The class of a word before a full stop. kInitial: a capital. kOrdinal: a number or a Roman number. kPlain: any word
/// that needs no full stop.
enum class WordKind { kPlain, kInside, kInsideOrEnd, kBeforeNumber, kInitial, kOrdinal };

bool is_roman_number(std::string_view word) {
  return !word.empty() && word.find_first_not_of("IVXLCDM") == std::string_view::npos;
}

bool is_decimal_number(std::string_view word) {
  return word.find_first_of("0123456789") != std::string_view::npos &&
         word.find_first_not_of("0123456789.,") == std::string_view::npos;
}

bool is_capital(std::string_view word) {
  const CodePoint point = text_point_at(word, 0);
  return point.size == word.size() && lowercase_letter(point.value) != point.value;
}

/// Returns whether the word is a capital, also of a double name: `J.-J`.
bool is_initial(std::string_view word) {
  return is_capital(word) || (word.find(".-") != std::string_view::npos && is_capital(last_part(word)));
}

/// Returns whether the word is letters with full stops between them, at most three in a row: `U.S`, `Ph.D`.
bool is_dotted(std::string_view word) {
  constexpr std::size_t kMaxLetters = 3;
  if (word.find('.') == std::string_view::npos || word.starts_with('.')) return false;
  std::size_t letters = 0;
  for (std::size_t i = 0; i < word.size();) {
    const CodePoint point = text_point_at(word, i);
    letters = point.value == U'.' ? 0 : letters + 1;
    if (letters > kMaxLetters || (point.value != U'.' && !is_letter(point.value))) return false;
    i += point.size;
  }
  return true;
}

bool has_suffix(std::string_view word, const AbbreviationRules& rules) {
  return std::ranges::any_of(
      rules.suffixes, [&](const std::string& suffix) { return word.size() > suffix.size() && word.ends_with(suffix); });
}

/// Returns whether the next word continues an abbreviation of several words: `z.` before `B.`
bool continues(const std::string& chain, const NextWord& next, const AbbreviationRules& rules) {
  if (!rules.partial.contains(chain)) return false;
  const std::string longer = chain + "." + std::string(next.text);
  return rules.partial.contains(longer) || rules.inside.contains(longer) || rules.inside_or_end.contains(longer);
}

/// Returns whether the word is a number, also a Roman one; the English `I` is a word.
bool is_number_word(const NextWord& next, const AbbreviationRules& rules) {
  return is_ascii_digit(next.first) || (is_roman_number(next.text) && !rules.first_words.contains(next.text));
}

WordKind classify(std::string_view text, const PreviousWord& word, const NextWord& next,
                  const AbbreviationRules& rules) {
  std::vector<std::string> spellings = chain_words(text, word);
  std::ranges::reverse(spellings);
  spellings.emplace_back(last_part(word.text));
  const auto is_in = [&](const WordSet& words) {
    return std::ranges::any_of(spellings, [&](const std::string& spelling) { return words.contains(spelling); });
  };
  const bool is_continued =
      std::ranges::any_of(spellings, [&](const std::string& spelling) { return continues(spelling, next, rules); });
  if (is_continued) return WordKind::kInside;
  if (is_in(rules.inside_or_end)) return WordKind::kInsideOrEnd;
  if (is_in(rules.inside)) return WordKind::kInside;
  if (has_suffix(word.text, rules)) return WordKind::kInsideOrEnd;
  if (is_in(rules.before_numbers) && is_number_word(next, rules)) return WordKind::kBeforeNumber;
  if (is_decimal_number(word.text)) return WordKind::kOrdinal;
  if (is_initial(word.text)) return WordKind::kInitial;
  if (is_roman_number(word.text)) return WordKind::kOrdinal;
  if (is_dotted(word.text)) return WordKind::kInsideOrEnd;
  return WordKind::kPlain;
}

bool begins_sentence(const NextWord& next, const AbbreviationRules& rules) {
  if (next.is_initial) return false;
  if (rules.first_words.contains(next.text)) return true;
  return next.has_apostrophe && rules.first_words.contains(std::string(next.text) + "'");
}

bool is_after(std::string_view text, const PreviousWord& word, const WordSet& words) {
  const PreviousWord before = previous_word(text, skip_gap_back(text, word.begin));
  return words.contains(lower_case(last_part(before.text)));
}

bool ends_after_initial(std::string_view text, const PreviousWord& word, const NextWord& next,
                        const AbbreviationRules& rules) {
  return is_ascii_digit(next.first) || begins_sentence(next, rules) || is_after(text, word, rules.before_letters);
}

bool ends_after_number(std::string_view text, const PreviousWord& word, const NextWord& next,
                       const AbbreviationRules& rules) {
  constexpr std::size_t kMostDigits = 3;  // more are a year
  const bool is_roman = is_roman_number(word.text);
  const bool is_dotted_number = word.text.find_first_of(".,") != std::string_view::npos;
  if (rules.before_ordinals.is_empty()) return true;
  if (!is_roman && !is_dotted_number && word.text.size() > kMostDigits) return true;
  if (is_ascii_digit(next.first)) return word.text.size() > 2 && !is_dotted_number;
  if (rules.after_ordinals.contains(next.text)) return false;
  if (begins_sentence(next, rules)) return true;
  return !is_roman && !is_after(text, word, rules.before_ordinals);
}

/// Returns whether the word is the number of a list item or a heading at the beginning of the sentence.
bool is_item_number(const PreviousWord& word, const SentenceContext& sentence) {
  constexpr std::size_t kMostDigits = 3;
  if (!sentence.first_word || word.begin > *sentence.first_word) return false;
  const bool is_short = word.text.size() <= kMostDigits || word.text.find('.') != std::string_view::npos;
  return (is_decimal_number(word.text) && is_short) || is_roman_number(word.text) || is_capital(word.text);
}

}  // namespace

bool is_full_stop(std::string_view text, std::size_t stop, const SentenceContext& sentence, const NextWord& next,
                  const AbbreviationRules& rules) {
  const PreviousWord word = previous_word(text, stop);
  if (word.text.empty()) return true;
  if (is_item_number(word, sentence)) return false;
  switch (classify(text, word, next, rules)) {
    case WordKind::kInside:
    case WordKind::kBeforeNumber:
      return false;
    case WordKind::kInsideOrEnd:
      return begins_sentence(next, rules);
    case WordKind::kInitial:
      return ends_after_initial(text, word, next, rules);
    case WordKind::kOrdinal:
      return ends_after_number(text, word, next, rules);
    case WordKind::kPlain:
      break;
  }
  return true;
}

bool is_abbreviation(std::string_view text, std::size_t stop, const SentenceContext& sentence, const NextWord& next,
                     const AbbreviationRules& rules) {
  const PreviousWord word = previous_word(text, stop);
  if (word.text.empty()) return false;
  if (is_item_number(word, sentence)) return true;
  const WordKind kind = classify(text, word, next, rules);
  return kind == WordKind::kOrdinal ? !rules.before_ordinals.is_empty() : kind != WordKind::kPlain;
}

bool is_name_with_mark(std::string_view text, std::size_t stop, const AbbreviationRules& rules) {
  const PreviousWord word = previous_word(text, stop);
  return rules.inside.contains(std::string(word.text) + text[stop]);
}

bool repeats_word(std::string_view text, std::size_t stop, const NextWord& next) {
  const PreviousWord word = previous_word(text, skip_gap_back(text, stop));
  return !next.text.empty() && lower_case(last_part(word.text)) == lower_case(next.text);
}

}  // namespace edgewise
