// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/tokenizer/byte_alphabet.h"

#include <array>
#include <cstdint>

#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

constexpr std::uint32_t kFirstOther = 0x100;

constexpr bool is_itself(std::uint32_t byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<std::uint32_t, 256> character_of = {};
  std::array<std::int32_t, kFirstOther + 256> byte_of = {};  // -1: no byte
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  for (std::int32_t& byte : alphabet.byte_of) byte = -1;
  std::uint32_t next = kFirstOther;
  for (std::uint32_t byte = 0; byte < alphabet.character_of.size(); ++byte) {
    const std::uint32_t character = is_itself(byte) ? byte : next++;
    alphabet.character_of[byte] = character;
    alphabet.byte_of[character] = static_cast<std::int32_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

std::string write_bytes(std::string_view bytes) {
  std::string characters;
  characters.reserve(bytes.size() + bytes.size() / 4);
  for (const char byte : bytes) append_utf8(characters, kAlphabet.character_of[static_cast<unsigned char>(byte)]);
  return characters;
}

std::optional<std::string> read_bytes(std::string_view characters) {
  std::string bytes;
  for (std::size_t offset = 0; offset < characters.size();) {
    const CodePoint point = code_point_at(characters, offset);
    const bool is_listed = point.size > 0 && point.value < kAlphabet.byte_of.size();
    const std::int32_t byte = is_listed ? kAlphabet.byte_of[point.value] : -1;
    if (byte < 0) return std::nullopt;
    bytes += static_cast<char>(byte);
    offset += point.size;
  }
  return bytes;
}

}  // namespace edgewise
