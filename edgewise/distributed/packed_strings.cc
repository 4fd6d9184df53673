// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/packed_strings.h"

#include <cstdint>
#include <cstring>

#include "edgewise/base/error.h"

namespace edgewise {

// Each string follows its size in 8 bytes.
std::string pack_strings(const std::vector<std::string>& strings) {
  std::string bytes;
  for (const std::string& string : strings) {
    const std::uint64_t size = string.size();
    bytes.append(reinterpret_cast<const char*>(&size), sizeof(size));
    bytes += string;
  }
  return bytes;
}

std::vector<std::string> unpack_strings(const std::string& bytes) {
  std::vector<std::string> strings;
  for (std::size_t begin = 0; begin < bytes.size();) {
    std::uint64_t size = 0;
    const std::size_t left = bytes.size() - begin;
    if (left >= sizeof(size)) std::memcpy(&size, bytes.data() + begin, sizeof(size));
    check(left >= sizeof(size) && left - sizeof(size) >= size,
          "unpack_strings: bytes have {} after byte {}, needs a whole string", left, begin);
    begin += sizeof(size);
    strings.push_back(bytes.substr(begin, size));
    begin += size;
  }
  return strings;
}

}  // namespace edgewise
