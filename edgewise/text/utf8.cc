// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/utf8.h"

namespace edgewise {
namespace {

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

std::string_view utf8_prefix(std::string_view text, std::size_t size) {
  if (text.size() <= size) return text;
  constexpr std::size_t kMostContinuations = 3;
  std::size_t end = size;
  while (end > 0 && size - end < kMostContinuations && is_continuation(byte_at(text, end))) --end;
  return text.substr(0, is_continuation(byte_at(text, end)) ? size : end);
}

}  // namespace edgewise
