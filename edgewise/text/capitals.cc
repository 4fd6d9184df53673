// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/capitals.h"

#include "edgewise/base/utf8.h"
#include "edgewise/text/unicode.h"

namespace edgewise {

std::optional<std::string> sentences_of_capitals(std::string_view text) {
  std::string sentences;
  bool has_capitals = false;
  bool has_others = false;
  bool is_first = true;
  for_each_code_point(text, [&](CodePoint point, std::size_t offset) {
    const char32_t small = lowercase_letter(point.value);
    if (is_letter(point.value)) {
      (small == point.value ? has_others : has_capitals) = true;
      append_utf8(sentences, is_first ? point.value : small);
      is_first = false;
    } else {
      sentences += text.substr(offset, point.size);
      is_first = is_first || point.value == U'.' || point.value == U'!' || point.value == U'?';
    }
    has_others = has_others || sentences.size() != offset + point.size;
  });
  return has_capitals && !has_others ? std::optional(sentences) : std::nullopt;
}

}  // namespace edgewise
