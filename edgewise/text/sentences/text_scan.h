// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "edgewise/text/sentences/sentence_marks.h"
#include "edgewise/text/unicode.h"

// Bytes and words at offsets of a text.

namespace edgewise {

/// Returns 0 after the end of the text.
inline char byte_or_zero(std::string_view text, std::size_t offset) {
  return offset < text.size() ? text[offset] : '\0';
}

inline bool is_one_of(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

inline bool has_word_at(std::string_view text, std::size_t offset) {
  return is_word_point(text_point_at(text, offset).value);
}

inline bool has_word_before(std::string_view text, std::size_t offset) {
  return is_word_point(text_point_before(text, offset).value);
}

/// Returns the offset of the first byte from `begin` on that is not accepted.
template <class Accepts>
std::size_t skip_while(std::string_view text, std::size_t begin, const Accepts& accepts) {
  while (begin < text.size() && accepts(text[begin])) ++begin;
  return begin;
}

}  // namespace edgewise
