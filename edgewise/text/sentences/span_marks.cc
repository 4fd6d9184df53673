// SPDX-License-Identifier: Apache-2.0
#include <unicode/uchar.h>

#include <utility>

#include "edgewise/base/ascii.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/sentences/span_patterns.h"
#include "edgewise/text/sentences/text_scan.h"

namespace edgewise {
namespace {

/// `%d`, `%5.2f`, `%1$s`, `%(name)s`, `%@`.
std::size_t find_format_end(std::string_view text, std::size_t begin) {
  std::size_t end = begin + 1;
  if (byte_or_zero(text, end) == '(') {
    end = skip_while(text, end + 1, [](char c) { return is_alphanumeric_of_ascii(c) || is_one_of(c, "_.-"); });
    if (byte_or_zero(text, end) != ')') return begin;
    ++end;
  }
  const std::size_t number = skip_while(text, end, is_digit_of_ascii);
  if (number > end && byte_or_zero(text, number) == '$') end = number + 1;
  end = skip_while(text, end, [](char c) { return is_one_of(c, "-+0#"); });
  end = skip_while(text, end, is_digit_of_ascii);
  if (byte_or_zero(text, end) == '.') end = skip_while(text, end + 1, is_digit_of_ascii);
  end = skip_while(text, end, [](char c) { return is_one_of(c, "hlzjt"); });
  if (!is_one_of(byte_or_zero(text, end), "diouxXeEfFgGcsp@")) return begin;
  const bool is_after_digit = begin > 0 && is_digit_of_ascii(text[begin - 1]);
  return is_after_digit || has_word_at(text, end + 1) ? begin : end + 1;
}

/// Text in one or two pairs of braces: a name, or anything within two pairs.
std::size_t find_braces_end(std::string_view text, std::size_t begin) {
  constexpr std::size_t kLongest = 200;
  const std::string_view rest = text.substr(begin, kLongest);
  for (const auto& [opening, closing] : {std::pair{"{{", "}}"}, std::pair{"{%", "%}"}, std::pair{"{#", "#}"}}) {
    const std::size_t end = rest.starts_with(opening) ? rest.find(closing, 2) : std::string_view::npos;
    if (end != std::string_view::npos) return begin + end + 2;
  }
  const std::size_t end = rest.find('}');
  if (end == std::string_view::npos) return begin;
  const std::string_view name = trim_ascii(rest.substr(1, end - 1));
  const bool is_name = std::ranges::none_of(name, [](char c) { return is_one_of(c, " \t\n{"); });
  return is_name ? begin + end + 1 : begin;
}

bool is_pictograph(char32_t point) {
  const auto value = static_cast<UChar32>(point);
  return point >= 0x80 && (u_hasBinaryProperty(value, UCHAR_EXTENDED_PICTOGRAPHIC) != 0 ||
                           u_hasBinaryProperty(value, UCHAR_REGIONAL_INDICATOR) != 0);
}

bool is_protected_symbol(char32_t point) {
  if (point < 0x80) return false;
  if (is_pictograph(point)) return true;
  const auto type = u_charType(static_cast<UChar32>(point));
  const bool is_unit_sign = point == U'°' || (point >= 0x2100 && point < 0x2150);
  return type == U_PRIVATE_USE_CHAR || (type == U_OTHER_SYMBOL && !is_unit_sign && point != kReplacementCharacter);
}

/// Variation selectors, skin tones, tags of flags, and the mark of a key.
bool is_emoji_modifier(char32_t point) {
  return (point >= 0xFE00 && point <= 0xFE0F) || (point >= 0x1F3FB && point <= 0x1F3FF) ||
         (point >= 0xE0020 && point <= 0xE007F) || point == 0x20E3;
}

}  // namespace

std::size_t find_placeholder_end(std::string_view text, std::size_t begin) {
  const char first = byte_or_zero(text, begin);
  const char second = byte_or_zero(text, begin + 1);
  if (first == '{') return find_braces_end(text, begin);
  if (is_one_of(first, "$%#") && second == '{') {
    const std::size_t end = text.substr(begin, 200).find('}');
    return end == std::string_view::npos ? begin : begin + end + 1;
  }
  if (first == '%') return find_format_end(text, begin);
  if (first == '$' && (is_letter_of_ascii(second) || second == '_')) {
    return skip_while(text, begin + 1, [](char c) { return is_alphanumeric_of_ascii(c) || c == '_'; });
  }
  if (first == '\\') return is_one_of(second, "nrt\\\"") ? begin + 2 : begin;
  if (first == '&') {
    const std::size_t end = skip_while(text, begin + (second == '#' ? 2 : 1), is_alphanumeric_of_ascii);
    return byte_or_zero(text, end) == ';' && end > begin + 2 ? end + 1 : begin;
  }
  return begin;
}

std::size_t find_tag_end(std::string_view text, std::size_t begin) {
  constexpr std::size_t kLongest = 1000;
  if (byte_or_zero(text, begin) != '<') return begin;
  const std::string_view rest = text.substr(begin, kLongest);
  const std::size_t name = byte_or_zero(rest, 1) == '/' ? 2 : 1;
  if (!is_letter_of_ascii(byte_or_zero(rest, name))) return begin;
  if (const std::size_t scheme = find_scheme_end(rest, 1); scheme > 1) {
    const std::size_t end = rest.find_first_of("> ");
    return end != std::string_view::npos && rest[end] == '>' ? begin + end + 1 : begin;
  }
  std::size_t end = skip_while(rest, name, [](char c) { return is_alphanumeric_of_ascii(c) || is_one_of(c, ":_-."); });
  if (!is_one_of(byte_or_zero(rest, end), " \t/>")) return begin;
  char quote = '\0';
  bool has_attribute = false;
  for (; end < rest.size(); ++end) {
    if (rest[end] == '>' && quote == '\0') break;
    if (rest[end] == '<' && quote == '\0') return begin;
    if (is_one_of(rest[end], "\"'")) quote = quote == '\0' ? rest[end] : quote == rest[end] ? '\0' : quote;
    has_attribute = has_attribute || rest[end] == '=';
  }
  if (end == rest.size()) return begin;
  const bool has_words =
      rest.substr(name, end - name).find_first_of(" \t") < end - name - (rest[end - 1] == '/' ? 2 : 0);
  return has_words && !has_attribute && rest[end - 1] != '/' ? begin : begin + end + 1;
}

std::size_t find_mention_end(std::string_view text, std::size_t begin) {
  const char first = byte_or_zero(text, begin);
  if (first == '[') {
    const bool is_note = byte_or_zero(text, begin + 1) == '^';
    const std::size_t end =
        is_note ? skip_while(text, begin + 2, [](char c) { return is_alphanumeric_of_ascii(c) || is_one_of(c, "_-"); })
                : skip_while(text, begin + 1, is_digit_of_ascii);
    return byte_or_zero(text, end) == ']' && end > begin + (is_note ? 2 : 1) ? end + 1 : begin;
  }
  if (!is_one_of(first, "@#") || has_word_before(text, begin)) return begin;
  std::size_t end = begin + 1;
  while (end < text.size()) {
    const CodePoint point = text_point_at(text, end);
    const bool is_name = is_word_point(point.value) || point.value == U'_';
    const bool joins = is_one_of(text[end], "-.") && has_word_at(text, end + 1) && first == '@';
    if (!is_name && !joins) break;
    end += point.size;
  }
  return end > begin + 1 ? end : begin;
}

std::size_t find_symbol_end(std::string_view text, std::size_t begin) {
  constexpr char32_t kJoiner = 0x200D;
  std::size_t end = begin;
  for (;;) {
    const CodePoint point = text_point_at(text, end);
    const bool is_key =
        (is_ascii_digit(point.value) || point.value == U'#' || point.value == U'*') &&
        (text.substr(end + 1).starts_with("\uFE0F\u20E3") || text.substr(end + 1).starts_with("\u20E3"));
    const bool is_object = point.value == 0xFFFC;
    if (!is_key && !is_protected_symbol(point.value)) return end;
    if (is_object && end > begin) return end;
    end += point.size;
    if (is_object) return end;
    for (CodePoint next = text_point_at(text, end); is_emoji_modifier(next.value); next = text_point_at(text, end)) {
      end += next.size;
    }
    const CodePoint joiner = text_point_at(text, end);
    if (joiner.value == kJoiner && is_pictograph(text_point_at(text, end + joiner.size).value)) end += joiner.size;
  }
}

std::size_t find_long_run_end(std::string_view text, std::size_t begin) {
  constexpr std::size_t kMostLetters = 100;
  std::size_t count = 0;
  std::size_t end = begin;
  while (end < text.size()) {
    const CodePoint point = text_point_at(text, end);
    const bool ends = is_space(point.value) || point.value == 0xFFFC ||
                      (point.value >= 0x80 && has_letters_without_spaces(point.value));
    if (ends) break;
    end += point.size;
    ++count;
  }
  return count > kMostLetters ? end : begin;
}

}  // namespace edgewise
