// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/output_words.h"

#include <algorithm>

#include "edgewise/base/utf8.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

constexpr std::string_view kHtmlSpaces = " \t\n\f\r";

bool is_in_word(char32_t code_point) { return is_letter(code_point) || is_number(code_point) || is_mark(code_point); }

/// Returns the code point that ends at `offset`, which is not 0.
char32_t code_point_before(std::string_view text, std::size_t offset) {
  std::size_t begin = offset - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  return code_point_at(text, begin).value;
}

bool is_word_boundary(std::string_view text, std::size_t offset) {
  if (offset == 0 || offset >= text.size()) return true;
  const char32_t before = code_point_before(text, offset);
  const char32_t after = code_point_at(text, offset).value;
  if (is_mark(after)) return is_space(before);
  return !is_in_word(before) || !is_in_word(after) || has_letters_without_spaces(before) ||
         has_letters_without_spaces(after);
}

}  // namespace

std::vector<OutputWord> join_tokens(const AlignedTranslation& translation) {
  std::vector<OutputWord> words;
  std::size_t line = 0;
  std::size_t end = 0;
  auto pair = translation.alignment.begin();
  for (std::size_t i = 0; i < translation.output_tokens.size(); ++i) {
    const ByteRange& token = translation.output_tokens[i];
    if (token.size() > 0) {
      const auto between = std::string_view(translation.text).substr(end, token.begin - end);
      line += static_cast<std::size_t>(std::ranges::count(between, '\n'));
      const bool begins_word = words.empty() || token.begin > end || is_word_boundary(translation.text, token.begin);
      if (begins_word) {
        const std::size_t space = between.find_first_of(kHtmlSpaces);
        if (!words.empty() && space != std::string_view::npos) words.back().bytes.end += space;
        const std::size_t begin = end + between.find_last_of(kHtmlSpaces) + 1;
        words.push_back({{begin, begin}, line});
      }
      words.back().bytes.end = token.end;
      end = token.end;
    }
    for (; pair != translation.alignment.end() && pair->output <= static_cast<std::int64_t>(i); ++pair) {
      const bool is_first = token.size() > 0 && !words.back().input_token;
      if (is_first) words.back().input_token = static_cast<std::size_t>(pair->input);
    }
  }
  if (!words.empty()) {
    words.back().bytes.end = std::min(translation.text.find_first_of(kHtmlSpaces, end), translation.text.size());
  }
  return words;
}

}  // namespace edgewise
