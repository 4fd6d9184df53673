// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace edgewise {

/// A field of a message in the wire format of Protocol Buffers.
struct WireField {
  enum class Type { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  std::uint32_t number = 0;
  Type type = Type::kVarint;
  std::uint64_t value = 0;  // value of a number
  std::string_view bytes;   // content of kBytes: a string or a message

  /// Returns the number as a `float` field.
  float as_float() const;
};

/// Calls `visit` for each field of a message, in order, without reading beyond `message`. Throws Error, beginning with
/// `where`, for invalid bytes and for groups, a deprecated kind of field.
void walk_message(std::string_view message, std::string_view where, const std::function<void(const WireField&)>& visit);

}  // namespace edgewise
