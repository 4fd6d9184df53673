// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace edgewise::detail {

/// A key of a TOML text.
struct DeepestKey {
  std::size_t parts = 0;  // number of parts: 3 for a.b."c d"
  std::size_t line = 0;   // counted from 1
};

/// Returns the key with the most parts, without parsing the text. toml++ builds a table for each part of a key, and its
/// destructor would overflow the stack at a key of some ten thousand parts.
DeepestKey find_deepest_key(std::string_view toml);

}  // namespace edgewise::detail
