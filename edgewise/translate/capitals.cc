// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/capitals.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "edgewise/base/utf8.h"
#include "edgewise/text/byte_range.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

/// A run of letters, with apostrophes between them.
struct Word {
  ByteRange bytes;
  bool begins_sentence = false;
};

/// Returns the words of a text in capitals; nothing for other texts.
std::optional<std::vector<Word>> find_words(std::string_view text) {
  std::vector<Word> words;
  bool has_others = false;
  bool begins_sentence = true;
  for_each_code_point(text, [&](CodePoint point, std::size_t offset) {
    if (has_others) return;
    const bool is_part = is_letter(point.value) || is_mark(point.value);
    const bool is_apostrophe = point.value == U'\'' || point.value == U'\u2019';
    begins_sentence = begins_sentence || point.value == U'.' || point.value == U'!' || point.value == U'?';
    if (!is_part && !is_apostrophe) return;
    const bool continues = !words.empty() && words.back().bytes.end == offset;
    if (!continues && !is_part) return;
    if (!continues) words.push_back({{offset, offset}, std::exchange(begins_sentence, false)});
    words.back().bytes.end = offset + point.size;
    std::string lower;
    append_utf8(lower, lowercase_letter(point.value));
    const bool is_capital = lower != text.substr(offset, point.size) && lower.size() == point.size;
    has_others = is_letter(point.value) && !is_capital;
  });
  return has_others || words.empty() ? std::nullopt : std::optional(words);
}

std::string change_letters(std::string_view word, bool keeps_first) {
  std::string changed;
  for_each_code_point(word, [&](CodePoint point, std::size_t offset) {
    append_utf8(changed, keeps_first && offset == 0 ? point.value : lowercase_letter(point.value));
  });
  return changed;
}

/// Returns the form of a word that the vocabulary has best.
std::string best_form(std::string_view word, bool prefers_capital, const Vocabulary& vocabulary) {
  std::array forms = {change_letters(word, false), change_letters(word, true), std::string(word)};
  if (prefers_capital) std::swap(forms[0], forms[1]);
  return *std::ranges::min_element(forms, {}, [&](const std::string& form) {
    const std::vector<std::int64_t> tokens = vocabulary.encode(form);
    return std::pair(std::ranges::count(tokens, vocabulary.special().unknown), tokens.size());
  });
}

}  // namespace

std::optional<std::string> without_capitals(std::string_view text, const Vocabulary& vocabulary) {
  const auto words = find_words(text);
  if (!words) return std::nullopt;
  std::string changed;
  std::size_t end = 0;
  for (const Word& word : *words) {
    changed += text.substr(end, word.bytes.begin - end);
    changed += best_form(text.substr(word.bytes.begin, word.bytes.size()), word.begins_sentence && words->size() > 1,
                         vocabulary);
    end = word.bytes.end;
  }
  changed += text.substr(end);
  return changed == text ? std::nullopt : std::optional(changed);
}

}  // namespace edgewise
