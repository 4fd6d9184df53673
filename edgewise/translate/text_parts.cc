// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/text_parts.h"

#include <algorithm>

#include "edgewise/base/utf8.h"
#include "edgewise/text/sentence_marks.h"
#include "edgewise/text/unicode.h"

namespace edgewise {

bool TextPart::needs_translation() const {
  bool has_word = false;
  for_each_code_point(sentence, [&](CodePoint point, std::size_t) {
    has_word = has_word || point.size == 0 || is_letter(point.value) || is_number(point.value);
  });
  return has_word;
}

std::string TextPart::input() const {
  std::string line;
  bool is_behind_break = false;
  for_each_code_point(sentence, [&](CodePoint point, std::size_t offset) {
    const bool is_break = is_line_break(point.value);
    if (is_break && !is_behind_break) line += ' ';
    if (!is_break) line += std::string_view(sentence).substr(offset, std::max<std::size_t>(point.size, 1));
    is_behind_break = is_break;
  });
  return line;
}

std::vector<TextPart> split_parts(std::string_view text, const SentenceSplitter& splitter) {
  std::vector<TextPart> parts;
  std::size_t end = 0;
  for (const SentenceSpan& span : splitter.split(text)) {
    parts.push_back(
        {std::string(text.substr(end, span.begin - end)), std::string(text.substr(span.begin, span.end - span.begin))});
    end = span.end;
  }
  if (end < text.size()) parts.push_back({std::string(text.substr(end)), ""});
  return parts;
}

std::string PartJoiner::translated(const TextPart& part, std::string_view output) {
  const bool begins_narrow = !output.empty() && !is_wide(text_point_at(output, 0).value);
  const bool has_space = !part.space.empty() || !needs_space_ || !begins_narrow;
  return append(part.space + (has_space ? "" : " ") + replace_line_feeds(std::string(output)));
}

std::string PartJoiner::copied(const TextPart& part) { return append(part.space + part.sentence); }

std::string PartJoiner::append(std::string text) {
  if (text.empty()) return text;
  const char32_t last = text_point_before(text, text.size()).value;
  needs_space_ = !is_space(last) && !is_wide(last);
  return text;
}

std::string replace_line_feeds(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

}  // namespace edgewise
