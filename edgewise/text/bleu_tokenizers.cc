// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/bleu_tokenizers.h"

#include <fmt/format.h>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

bool is_digit(char character) { return character >= '0' && character <= '9'; }

bool is_point_or_comma(char character) { return character == '.' || character == ','; }

/// Returns whether 13a always separates this character from words: ASCII except letters, digits, control characters and
/// ' , - .
bool is_always_separate(char character) {
  if (character < ' ' || character > '~' || is_digit(character)) return false;
  const bool is_ascii_letter = (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z');
  return !is_ascii_letter && std::string_view("',-.").find(character) == std::string_view::npos;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// Removes or decodes markup, as mteval does before it tokenizes.
std::string remove_markup(std::string_view line) {
  std::string text(line);
  replace_all(text, "<skipped>", "");
  replace_all(text, "-\n", "");
  replace_all(text, "\n", " ");
  replace_all(text, "&quot;", "\"");
  replace_all(text, "&amp;", "&");
  replace_all(text, "&lt;", "<");
  replace_all(text, "&gt;", ">");
  return text;
}

/// Copies the text, but calls `write` for each pair of neighbouring bytes that satisfies `is_pair`: from left to right,
/// without overlaps.
template <class IsPair, class Write>
std::string rewrite_pairs(std::string_view text, IsPair is_pair, Write write) {
  std::string result;
  result.reserve(text.size() + text.size() / 4);
  std::size_t i = 0;
  while (i < text.size()) {
    if (i + 1 < text.size() && is_pair(text[i], text[i + 1])) {
      write(result, text[i], text[i + 1]);
      i += 2;
    } else {
      result += text[i++];
    }
  }
  return result;
}

std::string separate_ascii_punctuation(std::string_view text) {
  std::string result;
  result.reserve(text.size() * 2);
  for (const char character : text) {
    if (is_always_separate(character)) {
      ((result += ' ') += character) += ' ';
    } else {
      result += character;
    }
  }
  return result;
}

/// Works on bytes instead of characters, because the rules depend on ASCII characters only.
std::string tokenize_13a(std::string_view line) {
  std::string text = separate_ascii_punctuation(fmt::format(" {} ", remove_markup(line)));
  auto split_after_each = [](std::string& result, char first, char second) {
    (((result += first) += ' ') += second) += ' ';
  };
  auto split_before_each = [](std::string& result, char first, char second) {
    (((result += ' ') += first) += ' ') += second;
  };
  text = rewrite_pairs(
      text, [](char first, char second) { return !is_digit(first) && is_point_or_comma(second); }, split_after_each);
  text = rewrite_pairs(
      text, [](char first, char second) { return is_point_or_comma(first) && !is_digit(second); }, split_before_each);
  return rewrite_pairs(
      text, [](char first, char second) { return is_digit(first) && second == '-'; }, split_after_each);
}

/// Puts spaces around the second character of each pair, or around the first if `before_first`.
template <class IsPair>
std::u32string split_pairs(const std::u32string& text, IsPair is_pair, bool before_first) {
  std::u32string result;
  result.reserve(text.size() + text.size() / 4);
  std::size_t i = 0;
  while (i < text.size()) {
    if (i + 1 == text.size() || !is_pair(text[i], text[i + 1])) {
      result += text[i++];
      continue;
    }
    if (before_first) result += U' ';
    ((result += text[i]) += U' ') += text[i + 1];
    if (!before_first) result += U' ';
    i += 2;
  }
  return result;
}

std::string tokenize_intl(std::string_view line) {
  std::u32string text;
  for_each_code_point(line, [&](CodePoint point, std::size_t) { text += point.value; });
  text = split_pairs(
      text, [](char32_t first, char32_t second) { return !is_number(first) && is_punctuation(second); }, false);
  text = split_pairs(
      text, [](char32_t first, char32_t second) { return is_punctuation(first) && !is_number(second); }, true);
  std::string result;
  for (const char32_t character : text) {
    const bool is_alone = is_symbol(character);
    if (is_alone) result += ' ';
    append_utf8(result, character);
    if (is_alone) result += ' ';
  }
  return result;
}

}  // namespace

std::string tokenize_for_bleu(std::string_view line, BleuTokenizer tokenizer) {
  switch (tokenizer) {
    case BleuTokenizer::k13a:
      return tokenize_13a(line);
    case BleuTokenizer::kIntl:
      return tokenize_intl(line);
    case BleuTokenizer::kNone:
      return std::string(line);
  }
  fail("tokenize_for_bleu: tokenizer is {}, which is none of them", static_cast<int>(tokenizer));
}

}  // namespace edgewise
