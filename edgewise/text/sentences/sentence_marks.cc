// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/sentences/sentence_marks.h"

#include <unicode/uchar.h>

#include <algorithm>

#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

bool is_in(std::u32string_view set, char32_t code_point) { return set.find(code_point) != std::u32string_view::npos; }

CodePoint replace_bad(CodePoint point) { return point.size > 0 ? point : CodePoint{kReplacementCharacter, 1}; }

}  // namespace

CodePoint text_point_at(std::string_view text, std::size_t offset) {
  return offset >= text.size() ? CodePoint() : replace_bad(code_point_at(text, offset));
}

CodePoint text_point_before(std::string_view text, std::size_t offset) {
  constexpr std::size_t kMaxSize = 4;
  if (offset == 0) return {};
  for (std::size_t size = 1; size <= std::min(kMaxSize, offset); ++size) {
    const CodePoint point = code_point_at(text.substr(0, offset), offset - size);
    if (point.size == size) return point;
  }
  return replace_bad({});
}

bool is_line_break(char32_t code_point) {
  return (code_point >= U'\n' && code_point <= U'\r') || is_in(U"\u0085\u2028\u2029", code_point);
}

bool is_stop_mark(char32_t code_point) {
  if (code_point < 0x80) return is_in(U".!?", code_point);
  return is_in(U"…‥｡", code_point) || u_hasBinaryProperty(static_cast<UChar32>(code_point), UCHAR_S_TERM) != 0;
}

bool is_wide_stop_mark(char32_t code_point) { return is_in(U"。！？｡．", code_point); }

bool is_clear_stop_mark(char32_t code_point) { return !is_in(U".…‥․", code_point); }

bool is_closing_mark(char32_t code_point) { return is_in(U")]}”’」』）］】》〉〕｣", code_point); }

bool is_two_way_quote(char32_t code_point) { return is_in(U"\"'“‘«»‹›*_", code_point); }

bool is_opening_mark(char32_t code_point) {
  return is_two_way_quote(code_point) || is_in(U"([{„‚”’「『（［【《〈〔｢¿¡-–—―•·‣◦▪", code_point);
}

bool attaches_to_word(char32_t code_point) {
  return is_stop_mark(code_point) || is_closing_mark(code_point) || is_in(U",;:", code_point);
}

bool is_ascii_digit(char32_t code_point) { return code_point >= U'0' && code_point <= U'9'; }

bool is_emoji(char32_t code_point) {
  return code_point != kReplacementCharacter && u_charType(static_cast<UChar32>(code_point)) == U_OTHER_SYMBOL;
}

bool is_wide_letter(char32_t code_point) {
  return (code_point >= 0x3040 && code_point <= 0x30FF) ||
         u_hasBinaryProperty(static_cast<UChar32>(code_point), UCHAR_IDEOGRAPHIC) != 0;
}

}  // namespace edgewise
