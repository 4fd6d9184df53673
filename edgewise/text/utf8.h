// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "edgewise/base/utf8.h"

namespace edgewise {

struct CodePoint {
  char32_t value = 0;
  std::size_t size = 0;  // its bytes; 0 where the text has none that is well-formed
};

/// The code point that begins at `offset`, which is before the text's end. Well-formed is what the Unicode Standard's
/// table 3-7 says: no overlong form, no surrogate, nothing above U+10FFFF.
CodePoint code_point_at(std::string_view text, std::size_t offset);

/// The longest prefix of at most `size` bytes that does not end inside a code point.
std::string_view utf8_prefix(std::string_view text, std::size_t size);

/// Calls `visit(CodePoint, std::size_t offset)` for each code point of well-formed UTF-8.
template <class Visit>
void for_each_code_point(std::string_view text, Visit&& visit) {
  for (std::size_t offset = 0; offset < text.size();) {
    const CodePoint point = code_point_at(text, offset);
    visit(point, offset);
    offset += point.size > 0 ? point.size : 1;
  }
}

}  // namespace edgewise
