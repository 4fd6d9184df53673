// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace edgewise {

/// One field of a message in Protocol Buffers' wire format.
struct WireField {
  enum class Type { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  std::uint32_t number = 0;
  Type type = Type::kVarint;
  std::uint64_t value = 0;  // of a number
  std::string_view bytes;   // of kBytes: a string or a message

  /// The number as a message's `float`.
  float as_float() const;
};

/// Calls `visit` for each field of a message, in order, and reads nothing outside it. Throws Error, beginning with
/// `where`, for bytes that are no message, and for groups, which nobody writes any more.
void walk_message(std::string_view message, std::string_view where, const std::function<void(const WireField&)>& visit);

}  // namespace edgewise
