// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace edgewise {

/// The bytes of a part of a text, from `begin` to before `end`.
struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - begin; }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

}  // namespace edgewise
