// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace edgewise::fuzz {

/// Takes numbers from the front of the bytes; 0 after their end.
class Numbers {
 public:
  explicit Numbers(std::string_view bytes) : rest_(bytes) {}

  bool is_at_end() const { return rest_.empty(); }

  /// Returns a number from -1 to 46: large relations would make fuzzing slow.
  std::int64_t next() { return is_at_end() ? 0 : next_byte() % 48 - 1; }

  /// Returns a number from 0 to `count` - 1.
  std::int64_t next_below(std::int64_t count) { return next_byte() % count; }

  /// Returns a number near 0, near a power of two that an index type cannot hold, or near the ends of 64 bits.
  std::int64_t next_large() {
    constexpr std::array<std::int64_t, 8> kNear = {2,
                                                   std::int64_t{1} << 30,
                                                   (std::int64_t{1} << 31) - 1,
                                                   std::int64_t{1} << 31,
                                                   std::int64_t{1} << 32,
                                                   std::int64_t{1} << 62,
                                                   INT64_MAX - 4,
                                                   INT64_MIN + 4};
    const std::int64_t byte = next_byte();
    return kNear[static_cast<std::size_t>(byte % 8)] + (byte / 8 % 8 - 4);
  }

  template <class Number>
  std::vector<Number> list(std::int64_t count) {
    std::vector<Number> numbers;
    for (std::int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<Number>(next()));
    return numbers;
  }

 private:
  std::int64_t next_byte() {
    if (rest_.empty()) return 0;
    const auto byte = static_cast<unsigned char>(rest_[0]);
    rest_.remove_prefix(1);
    return byte;
  }

  std::string_view rest_;
};

}  // namespace edgewise::fuzz
