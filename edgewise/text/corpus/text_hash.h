// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "edgewise/base/sha256.h"

namespace edgewise {

/// Computes 64 bits of the SHA-256 of a sequence of texts with their lengths.
class TextHash {
 public:
  void add(std::string_view text) {
    const std::uint64_t size = text.size();
    hash_.update({reinterpret_cast<const char*>(&size), sizeof(size)});
    hash_.update(text);
  }

  /// Returns the hash; `add` must not be called afterwards.
  std::uint64_t value() {
    const std::string digits = hash_.finish();
    std::uint64_t value = 0;
    std::from_chars(digits.data(), digits.data() + 16, value, 16);
    return value;
  }

 private:
  Sha256 hash_;
};

}  // namespace edgewise
