// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "edgewise/base/error.h"

namespace edgewise {

/// Takes bytes and little-endian numbers from the front of a file in memory. Throws Error, beginning with `where`, at
/// the end of the file.
class ByteReader {
 public:
  /// The bytes must outlive the reader.
  ByteReader(std::string_view bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {}

  std::size_t position() const { return position_; }
  std::size_t num_left() const { return bytes_.size() - position_; }

  /// `what` names the bytes in errors.
  std::string_view take(std::uint64_t size, std::string_view what) {
    if (size > num_left()) {
      fail_here("{} has {} bytes, needs {}; the file is truncated, copy it again", what, num_left(), size);
    }
    const std::string_view taken = bytes_.substr(position_, size);
    position_ += size;
    return taken;
  }

  template <std::unsigned_integral Number>
  Number take_number(std::string_view what) {
    Number number = 0;
    std::size_t shift = 0;
    for (const char byte : take(sizeof(Number), what)) {
      number = static_cast<Number>(number | Number{static_cast<unsigned char>(byte)} << shift);
      shift += 8;
    }
    return number;
  }

  /// Takes the bytes up to the next `end`, and `end`, which is not returned.
  std::string_view take_until(char end, std::string_view what) {
    const std::size_t size = bytes_.substr(position_).find(end);
    if (size == std::string_view::npos) fail_here("{} has no end, needs one", what);
    return take(size + 1, what).substr(0, size);
  }

  /// Throws an error at the next byte.
  template <typename... Args>
  [[noreturn]] void fail_here(fmt::format_string<Args...> message, Args&&... args) const {
    fail_at(position_, message, std::forward<Args>(args)...);
  }

  /// Throws an error that begins with `where` and the byte's number, counted from 0.
  template <typename... Args>
  [[noreturn]] void fail_at(std::size_t position, fmt::format_string<Args...> message, Args&&... args) const {
    fail("{}, byte {}: {}", where_, position, fmt::format(message, std::forward<Args>(args)...));
  }

 private:
  std::string_view bytes_;
  std::string where_;
  std::size_t position_ = 0;
};

/// Appends a little-endian number, as ByteReader::take_number takes it.
template <std::unsigned_integral Number>
void append_number(std::string& file, Number number) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) file += static_cast<char>(number >> (8 * i) & 0xFF);
}

}  // namespace edgewise
