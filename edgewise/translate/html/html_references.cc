// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/html/html_references.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include "edgewise/base/ascii.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

struct NamedReference {
  std::string_view name;  // without `&`; with `;` unless the reference needs none
  std::string_view text;
};

constexpr NamedReference kNamedReferences[] = {
#include "edgewise/translate/html/html_references.inc"
};

constexpr std::size_t kMaxName = 32;

bool is_name_byte(char c) { return is_digit_of_ascii(c) || is_letter_of_ascii(c); }

/// Returns 16 for a character that is no hexadecimal digit.
std::uint32_t digit_value(char c) {
  if (is_digit_of_ascii(c)) return static_cast<std::uint32_t>(c - '0');
  const char letter = lower_ascii(c);
  return letter >= 'a' && letter <= 'f' ? static_cast<std::uint32_t>(letter - 'a' + 10) : 16;
}

/// Returns the code point that a number from 0x80 to 0x9F has in windows-1252, where it is not a control character.
std::uint32_t from_windows_1252(std::uint32_t number) {
  constexpr std::array<std::uint16_t, 32> kPoints = {0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                                     0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D,   0x017D, 0x8F,
                                                     0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                                     0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178};
  return kPoints[number - 0x80];
}

std::uint32_t referenced_code_point(std::uint32_t number) {
  const bool is_surrogate = number >= 0xD800 && number <= 0xDFFF;
  if (number == 0 || is_surrogate || number > 0x10FFFF) return kReplacementCharacter;
  return number >= 0x80 && number <= 0x9F ? from_windows_1252(number) : number;
}

/// Reads the number after `&#`. Returns the number of bytes, or 0 if there is no digit.
std::size_t append_numeric(std::string& decoded, std::string_view text) {
  const bool is_hexadecimal = !text.empty() && (text[0] == 'x' || text[0] == 'X');
  const std::uint32_t base = is_hexadecimal ? 16 : 10;
  const std::size_t begin = is_hexadecimal ? 1 : 0;
  std::size_t end = begin;
  std::uint32_t number = 0;
  constexpr std::uint32_t kTooLarge = 0x110000;
  for (; end < text.size() && digit_value(text[end]) < base; ++end) {
    number = std::min(number * base + digit_value(text[end]), kTooLarge);
  }
  if (end == begin) return 0;
  append_utf8(decoded, referenced_code_point(number));
  return end < text.size() && text[end] == ';' ? end + 1 : end;
}

/// Finds the longest name at the beginning of `text`; null if there is none.
const NamedReference* find_named(std::string_view text) {
  std::size_t size = 0;
  while (size < std::min(text.size(), kMaxName) && is_name_byte(text[size])) ++size;
  if (size < text.size() && text[size] == ';') ++size;
  for (; size > 1; --size) {
    const auto* const found =
        std::ranges::lower_bound(kNamedReferences, text.substr(0, size), {}, &NamedReference::name);
    if (found != std::end(kNamedReferences) && found->name == text.substr(0, size)) return found;
  }
  return nullptr;
}

/// Returns the number of bytes of the name, or 0 if there is none.
std::size_t append_named(std::string& decoded, std::string_view text, HtmlTextPlace place) {
  const NamedReference* const found = find_named(text);
  if (found == nullptr) return 0;
  const std::size_t size = found->name.size();
  if (place == HtmlTextPlace::kAttribute && !found->name.ends_with(';') && size < text.size() &&
      (text[size] == '=' || is_name_byte(text[size]))) {
    return 0;
  }
  decoded += found->text;
  return size;
}

}  // namespace

std::string decode_html_references(std::string_view text, HtmlTextPlace place) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t ampersand = std::min(text.find('&', begin), text.size());
    decoded += text.substr(begin, ampersand - begin);
    if (ampersand == text.size()) break;
    const std::string_view after = text.substr(ampersand + 1);
    std::size_t size = 0;
    if (after.starts_with('#')) {
      size = append_numeric(decoded, after.substr(1));
      if (size > 0) ++size;
    } else {
      size = append_named(decoded, after, place);
    }
    if (size == 0) decoded += '&';
    begin = ampersand + 1 + size;
  }
  return decoded;
}

}  // namespace edgewise
