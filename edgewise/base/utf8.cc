// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/utf8.h"

#include <fmt/format.h>

namespace edgewise {
namespace {

bool is_between(unsigned char byte, unsigned char first, unsigned char last) { return byte >= first && byte <= last; }

// Which second bytes may follow a lead byte: this is where overlong forms, surrogates and too large ones are excluded.
bool is_second_byte(unsigned char lead, unsigned char second) {
  switch (lead) {
    case 0xE0:
      return is_between(second, 0xA0, 0xBF);
    case 0xED:
      return is_between(second, 0x80, 0x9F);
    case 0xF0:
      return is_between(second, 0x90, 0xBF);
    case 0xF4:
      return is_between(second, 0x80, 0x8F);
    default:
      return is_between(second, 0x80, 0xBF);
  }
}

std::size_t length_after_lead(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (is_between(lead, 0xC2, 0xDF)) return 2;
  if (is_between(lead, 0xE0, 0xEF)) return 3;
  if (is_between(lead, 0xF0, 0xF4)) return 4;
  return 0;
}

// Bytes of the code point at the front of a text that is not empty; 0 when it is not well-formed.
std::size_t code_point_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = length_after_lead(byte(0));
  if (length == 0 || length > text.size()) return 0;
  if (length > 1 && !is_second_byte(byte(0), byte(1))) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (!is_between(byte(i), 0x80, 0xBF)) return 0;
  }
  return length;
}

// Of a well-formed code point.
std::uint32_t decode(std::string_view bytes) {
  constexpr unsigned char kLeadBits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
  std::uint32_t code_point = static_cast<unsigned char>(bytes[0]) & kLeadBits[bytes.size()];
  for (const char byte : bytes.substr(1)) code_point = code_point << 6 | (static_cast<unsigned char>(byte) & 0x3F);
  return code_point;
}

bool is_control(std::uint32_t code_point) { return code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0); }

// Marks that turn the direction of the text after them, and line ends that some terminals obey.
bool garbles(std::uint32_t code_point) {
  return is_control(code_point) || (code_point >= 0x2028 && code_point <= 0x202E) ||
         (code_point >= 0x2066 && code_point <= 0x2069);
}

std::string shown(std::string_view bytes) {
  const std::uint32_t code_point = decode(bytes);
  if (code_point == '"' || code_point == '\\') return fmt::format("\\{}", bytes);
  if (code_point == '\n') return "\\n";
  if (code_point == '\t') return "\\t";
  if (garbles(code_point)) return fmt::format("\\u{:04x}", code_point);
  return std::string(bytes);
}

}  // namespace

std::optional<std::size_t> find_bad_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = code_point_length(text.substr(i));
    if (length == 0) return i;
    i += length;
  }
  return std::nullopt;
}

bool has_control_character(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = code_point_length(text.substr(i));
    if (length == 0 || is_control(decode(text.substr(i, length)))) return true;
    i += length;
  }
  return false;
}

void append_utf8(std::string& text, std::uint32_t code_point) {
  const auto append = [&](std::uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  const auto append_tail = [&](int shift) { append(0x80 | (code_point >> shift & 0x3F)); };
  if (code_point < 0x80) {
    append(code_point);
  } else if (code_point < 0x800) {
    append(0xC0 | code_point >> 6);
    append_tail(0);
  } else if (code_point < 0x10000) {
    append(0xE0 | code_point >> 12);
    append_tail(6);
    append_tail(0);
  } else {
    append(0xF0 | code_point >> 18);
    append_tail(12);
    append_tail(6);
    append_tail(0);
  }
}

std::string with_bad_utf8_replaced(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = code_point_length(text);
    result += length > 0 ? text.substr(0, length) : "\uFFFD";
    text.remove_prefix(length > 0 ? length : 1);
  }
  return result;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string result = "\"";
  while (!text.empty()) {
    const std::size_t length = code_point_length(text);
    const std::string next =
        length > 0 ? shown(text.substr(0, length)) : fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    if (result.size() + next.size() > kLongest + 1) return result + "…\"";
    result += next;
    text.remove_prefix(length > 0 ? length : 1);
  }
  return result + '"';
}

}  // namespace edgewise
