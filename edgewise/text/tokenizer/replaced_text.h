// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "edgewise/base/error.h"

namespace edgewise {

/// Replaces each occurrence of `from`, which is not empty, by `to`.
inline std::string replace_each(std::string_view text, std::string_view from, std::string_view to) {
  std::string replaced;
  for (;;) {
    const std::size_t found = text.find(from);
    replaced += text.substr(0, found);
    if (found == std::string_view::npos) return replaced;
    replaced += to;
    text.remove_prefix(found + from.size());
  }
}

/// Throws Error for a text that the steps of a tokenizer made much longer: a hostile file would take all memory.
inline void check_growth(const char* caller, std::size_t bytes, std::size_t bytes_before) {
  constexpr std::size_t kMostGrowth = 64;
  constexpr std::size_t kAnyText = 65'536;
  const std::size_t most = kAnyText + kMostGrowth * bytes_before;
  check(bytes <= most, "{}: the tokenizer makes a text of {} bytes {} bytes long, needs at most {}", caller,
        bytes_before, bytes, most);
}

}  // namespace edgewise
