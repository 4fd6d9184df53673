// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/convert/support.h"

namespace edgewise {

/// A zip entry to write by hand, with fields that may be wrong.
struct RawEntry {
  std::string name = {};
  std::string bytes = {};                  // as stored in the archive
  std::uint16_t method = 0;                // 0: stored, 8: deflated
  std::uint16_t flags = 0;                 // 1: encrypted
  std::optional<std::uint32_t> size = {};  // when unpacked; by default the size of `bytes`
  std::optional<std::uint32_t> checksum = {};
  std::optional<std::uint32_t> offset = {};  // of the local header
};

/// The CRC-32 of zip archives.
inline std::uint32_t crc32_of(std::string_view bytes) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320U : 0U);
  }
  return ~crc;
}

/// Returns a zip archive. `num_entries` replaces the number of entries in its end record.
inline std::string raw_zip(const std::vector<RawEntry>& entries, std::optional<std::uint16_t> num_entries = {}) {
  std::string local;
  std::string central;
  for (const RawEntry& entry : entries) {
    const auto packed_size = static_cast<std::uint32_t>(entry.bytes.size());
    const std::string fields = little_endian(std::uint16_t{20}) + little_endian(entry.flags) +
                               little_endian(entry.method) + std::string(4, '\0') +
                               little_endian(entry.checksum.value_or(crc32_of(entry.bytes))) +
                               little_endian(packed_size) + little_endian(entry.size.value_or(packed_size)) +
                               little_endian(static_cast<std::uint16_t>(entry.name.size())) + std::string(2, '\0');
    const auto offset = entry.offset.value_or(static_cast<std::uint32_t>(local.size()));
    central += "PK\1\2" + little_endian(std::uint16_t{20}) + fields + std::string(10, '\0') + little_endian(offset) +
               entry.name;
    local += "PK\3\4" + fields + entry.name + entry.bytes;
  }
  const std::string count = little_endian(num_entries.value_or(static_cast<std::uint16_t>(entries.size())));
  return local + central + "PK\5\6" + std::string(4, '\0') + count + count +
         little_endian(static_cast<std::uint32_t>(central.size())) +
         little_endian(static_cast<std::uint32_t>(local.size())) + std::string(2, '\0');
}

/// Returns deflated data that holds the bytes, at most 65 535, in a block without compression.
inline std::string deflated_block(std::string_view bytes) {
  const auto size = static_cast<std::uint16_t>(bytes.size());
  return "\1" + little_endian(size) + little_endian(static_cast<std::uint16_t>(~size)) + std::string(bytes);
}

}  // namespace edgewise
