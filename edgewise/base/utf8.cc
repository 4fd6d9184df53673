// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/utf8.h"

#include <fmt/format.h>

#include <algorithm>

#include "edgewise/base/ascii.h"

namespace edgewise {
namespace {

unsigned byte_at(std::string_view text, std::size_t offset) { return static_cast<unsigned char>(text[offset]); }

bool is_continuation(unsigned byte) { return (byte & 0xC0) == 0x80; }

/// The length in bytes of the sequence that a lead byte begins, and the range of its second byte. This range excludes
/// overlong forms, surrogates and code points above U+10FFFF.
struct Lead {
  std::size_t size;
  unsigned lowest_second;
  unsigned highest_second;
};

Lead lead_of(unsigned byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte >= 0xC2 && byte <= 0xDF) return {2, 0x80, 0xBF};
  if (byte >= 0xE0 && byte <= 0xEF) return {3, byte == 0xE0 ? 0xA0u : 0x80u, byte == 0xED ? 0x9Fu : 0xBFu};
  if (byte >= 0xF0 && byte <= 0xF4) return {4, byte == 0xF0 ? 0x90u : 0x80u, byte == 0xF4 ? 0x8Fu : 0xBFu};
  return {0, 0, 0};
}

bool is_control(char32_t code_point) { return code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0); }

struct CodePointRange {
  char32_t first;
  char32_t last;
};

// Unicode's Default_Ignorable_Code_Point without variation selectors, its separators of lines, and its anchors of
// annotations.
constexpr CodePointRange kInvisible[] = {
    {0x00AD, 0x00AD},    // soft hyphen
    {0x034F, 0x034F},    // combining grapheme joiner
    {0x061C, 0x061C},    // Arabic letter mark
    {0x115F, 0x1160},    // Hangul fillers
    {0x17B4, 0x17B5},    // Khmer inherent vowels
    {0x180E, 0x180E},    // Mongolian vowel separator
    {0x200B, 0x200F},    // space, joiners and direction marks without width
    {0x2028, 0x202E},    // separators of lines, controls of direction
    {0x2060, 0x206F},    // word joiner, invisible operators, controls of direction
    {0x3164, 0x3164},    // Hangul filler
    {0xFEFF, 0xFEFF},    // byte order mark
    {0xFFA0, 0xFFA0},    // Hangul filler
    {0xFFF0, 0xFFFB},    // unassigned, anchors of annotations
    {0x1BCA0, 0x1BCA3},  // controls of shorthand
    {0x1D173, 0x1D17A},  // controls of musical notation
    {0xE0000, 0xE00FF},  // tags
    {0xE01F0, 0xE0FFF},  // unassigned
};

std::string escape(std::string_view bytes, CodePoint point) {
  if (point.size == 0) return fmt::format("\\x{:02x}", byte_at(bytes, 0));
  if (point.value == '\n') return "\\n";
  if (point.value == '\t') return "\\t";
  if (!is_control(point.value) && !is_invisible(point.value)) return std::string(bytes);
  const auto number = static_cast<std::uint32_t>(point.value);
  return number > 0xFFFF ? fmt::format("\\U{:08x}", number) : fmt::format("\\u{:04x}", number);
}

enum class Quotes { kKept, kEscaped };

struct EscapedText {
  std::string text;
  bool is_cut = false;
};

/// Escapes as many code points as fit into `max_size` bytes. With kEscaped, escapes `"` and `\` too.
EscapedText escape_text(std::string_view text, std::size_t max_size, Quotes quotes) {
  EscapedText escaped;
  while (!text.empty()) {
    const CodePoint point = code_point_at(text, 0);
    const std::string_view bytes = text.substr(0, std::max<std::size_t>(point.size, 1));
    const bool is_quote = quotes == Quotes::kEscaped && (point.value == '"' || point.value == '\\');
    const std::string next = is_quote ? fmt::format("\\{}", bytes) : escape(bytes, point);
    if (escaped.text.size() + next.size() > max_size) {
      escaped.is_cut = true;
      return escaped;
    }
    escaped.text += next;
    text.remove_prefix(bytes.size());
  }
  return escaped;
}

constexpr std::size_t kMaxQuoted = 60;  // bytes

}  // namespace

CodePoint code_point_at(std::string_view text, std::size_t offset) {
  const unsigned first = byte_at(text, offset);
  const Lead lead = lead_of(first);
  if (lead.size == 1) return {first, 1};
  if (lead.size == 0 || text.size() - offset < lead.size) return {};

  const unsigned second = byte_at(text, offset + 1);
  if (second < lead.lowest_second || second > lead.highest_second) return {};
  char32_t value = first & (0x7Fu >> lead.size);
  for (std::size_t i = 1; i < lead.size; ++i) {
    const unsigned byte = byte_at(text, offset + i);
    if (!is_continuation(byte)) return {};
    value = value << 6 | (byte & 0x3F);
  }
  return {value, lead.size};
}

std::size_t count_code_points(std::string_view text) {
  std::size_t count = 0;
  for_each_code_point(text, [&count](CodePoint, std::size_t) { ++count; });
  return count;
}

std::string_view utf8_prefix(std::string_view text, std::size_t size) {
  if (text.size() <= size) return text;
  constexpr std::size_t kMaxContinuations = 3;
  std::size_t end = size;
  while (end > 0 && size - end < kMaxContinuations && is_continuation(byte_at(text, end))) --end;
  return text.substr(0, is_continuation(byte_at(text, end)) ? size : end);
}

std::optional<std::size_t> find_bad_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = code_point_at(text, i).size;
    if (size == 0) return i;
    i += size;
  }
  return std::nullopt;
}

bool is_cut_code_point(std::string_view text, std::size_t offset) {
  const std::string_view rest = text.substr(offset);
  const Lead lead = lead_of(rest.empty() ? 0 : byte_at(rest, 0));
  if (rest.empty() || rest.size() >= lead.size) return false;
  if (rest.size() > 1 && (byte_at(rest, 1) < lead.lowest_second || byte_at(rest, 1) > lead.highest_second))
    return false;
  return rest.size() < 3 || is_continuation(byte_at(rest, 2));
}

bool is_invisible(char32_t code_point) {
  return std::ranges::any_of(kInvisible, [code_point](const CodePointRange& range) {
    return code_point >= range.first && code_point <= range.last;
  });
}

bool has_control_character(std::string_view text) {
  bool is_found = false;
  for_each_code_point(
      text, [&](CodePoint point, std::size_t) { is_found = is_found || point.size == 0 || is_control(point.value); });
  return is_found;
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

std::string replace_bad_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for_each_code_point(text, [&](CodePoint point, std::size_t offset) {
    result += point.size > 0 ? text.substr(offset, point.size) : "\uFFFD";
  });
  return result;
}

std::string quote(std::string_view text) {
  const EscapedText escaped = escape_text(text, kMaxQuoted, Quotes::kEscaped);
  if (escaped.is_cut) return fmt::format("\"{}…\" ({} bytes)", escaped.text, text.size());
  return fmt::format("\"{}\"", escaped.text);
}

std::string quote_unless_plain(std::string_view text) {
  const auto is_plain = [](char letter) {
    return is_letter_of_ascii(letter) || is_digit_of_ascii(letter) ||
           std::string_view("+-._").find(letter) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= kMaxQuoted && std::ranges::all_of(text, is_plain) ? std::string(text)
                                                                                           : quote(text);
}

std::string printable(std::string_view text, std::size_t max_size) {
  const EscapedText escaped = escape_text(text, max_size, Quotes::kKept);
  return escaped.is_cut ? fmt::format("{}… ({} bytes)", escaped.text, text.size()) : escaped.text;
}

}  // namespace edgewise
