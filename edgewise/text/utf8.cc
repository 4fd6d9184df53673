// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>

namespace edgewise {
namespace {

constexpr std::size_t kMostQuotedBytes = 40;

unsigned byte_at(std::string_view text, std::size_t offset) { return static_cast<unsigned char>(text[offset]); }

bool is_continuation(unsigned byte) { return (byte & 0xC0) == 0x80; }

/// How long the sequence is that `lead` begins, and what its second byte may be: that range alone keeps out overlong
/// forms, surrogates and what is above U+10FFFF.
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

std::optional<std::size_t> first_bad_utf8(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080;
  for (std::size_t offset = 0; offset < text.size();) {
    std::uint64_t word = 0;
    if (text.size() - offset >= sizeof(word)) {
      std::memcpy(&word, text.data() + offset, sizeof(word));
      if ((word & kHighBits) == 0) {
        offset += sizeof(word);
        continue;
      }
    }
    const CodePoint point = code_point_at(text, offset);
    if (point.size == 0) return offset;
    offset += point.size;
  }
  return std::nullopt;
}

void append_code_point(std::string& text, char32_t code_point) {
  auto put = [&text](char32_t byte) { text += static_cast<char>(byte); };
  auto put_continuation = [&](int shift) { put(0x80 | (code_point >> shift & 0x3F)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
    put_continuation(0);
  } else if (code_point < 0x10000) {
    put(0xE0 | code_point >> 12);
    put_continuation(6);
    put_continuation(0);
  } else {
    put(0xF0 | code_point >> 18);
    put_continuation(12);
    put_continuation(6);
    put_continuation(0);
  }
}

std::string_view utf8_prefix(std::string_view text, std::size_t size) {
  if (text.size() <= size) return text;
  constexpr std::size_t kMostContinuations = 3;
  std::size_t end = size;
  while (end > 0 && size - end < kMostContinuations && is_continuation(byte_at(text, end))) --end;
  return text.substr(0, is_continuation(byte_at(text, end)) ? size : end);
}

std::string quote(std::string_view text) {
  const std::string_view shown = utf8_prefix(text, kMostQuotedBytes);
  std::string quoted = "\"";
  for_each_code_point(shown, [&](CodePoint point, std::size_t offset) {
    const bool is_control = point.value < 0x20 || (point.value >= 0x7F && point.value < 0xA0);
    if (point.size == 1 && (point.value == '"' || point.value == '\\')) quoted += '\\';
    if (point.size == 0 || is_control) {
      for (std::size_t i = 0; i < std::max<std::size_t>(point.size, 1); ++i) {
        fmt::format_to(std::back_inserter(quoted), "\\x{:02X}", byte_at(shown, offset + i));
      }
    } else {
      quoted += shown.substr(offset, point.size);
    }
  });
  return quoted + (shown.size() < text.size() ? "…\"" : "\"");
}

}  // namespace edgewise
