// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/text_sentences.h"

#include <algorithm>
#include <utility>

#include "edgewise/base/ascii.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/sentences/protected_spans.h"
#include "edgewise/text/sentences/sentence_marks.h"
#include "edgewise/text/unicode.h"

namespace edgewise {

namespace {

/// Returns the run of equal marks at the beginning of a line that begins a block of code; empty if the line does not.
std::string_view read_fence(std::string_view line) {
  constexpr std::size_t kLength = 3;
  const std::size_t length = line.empty() ? 0 : std::min(line.find_first_not_of(line.front()), line.size());
  const std::string_view fence = line.substr(0, length);
  const bool is_code = fence.starts_with("```") && line.find('`', length) == std::string_view::npos;
  const bool is_tilde = fence.starts_with("~~~") && length == kLength;  // longer lines of tildes divide texts
  return is_code || is_tilde ? fence : std::string_view();
}

/// Returns whether a line of subtitles says when its text is shown: `00:00:07,882 --> 00:00:10,510 align:start`.
bool is_time_code(std::string_view line) {
  const std::size_t arrow = line.find(" --> ");
  return arrow != std::string_view::npos && arrow > 0 && is_digit_of_ascii(line.front()) &&
         line.substr(0, arrow).find_first_not_of("0123456789:.,") == std::string_view::npos;
}

/// Returns whether a line gives the address of a link: `[name]: https://…`.
bool is_link_definition(std::string_view line) {
  const std::size_t end = line.find("]: ");
  return line.starts_with('[') && end != std::string_view::npos && end > 1 &&
         line.substr(0, end).find(' ') == std::string_view::npos &&
         line.find_first_of(":/.#<", end + 3) != std::string_view::npos;
}

/// Collects the sentences of a text.
class SentenceList {
 public:
  explicit SentenceList(const SentenceSplitter& splitter) : splitter_(splitter) {}

  void add_space(std::string_view space) { space_ += space; }

  void add_copied(std::string_view text) {
    if (!text.empty()) sentences_.push_back({std::exchange(space_, {}), std::string(text), false});
  }

  /// Adds the sentences of text that begins a line or a cell.
  void add_prose(std::string_view text) {
    std::size_t end = 0;
    for (ByteRange span : splitter_.split(text)) {
      if (begins_line(text, span.begin)) span.begin += skip_marks(text.substr(span.begin, span.size()));
      space_ += text.substr(end, span.begin - end);
      end = span.end;
      const std::string_view sentence = text.substr(span.begin, span.size());
      sentences_.push_back({std::exchange(space_, {}), std::string(sentence), needs_translation(sentence)});
    }
    space_ += text.substr(end);
  }

  /// Adds a line of cells.
  void add_row(std::string_view line) {
    for (std::size_t begin = 0; begin < line.size();) {
      std::size_t end = begin;
      while (end < line.size() && (line[end] != '|' || (end > 0 && line[end - 1] == '\\'))) ++end;
      add_prose(line.substr(begin, end - begin));
      if (end < line.size()) space_ += '|';
      begin = end + 1;
    }
  }

  std::vector<TextSentence> take() {
    if (!space_.empty()) sentences_.push_back({std::move(space_)});
    return std::move(sentences_);
  }

 private:
  static bool begins_line(std::string_view text, std::size_t offset) {
    for (; offset > 0; offset -= text_point_before(text, offset).size) {
      const char32_t point = text_point_before(text, offset).value;
      if (is_line_break(point)) return true;
      if (!is_space(point) && point != 0xFEFF) return false;
    }
    return true;
  }

  /// Returns the bytes of the marks before a sentence; 0 if there is nothing but marks.
  std::size_t skip_marks(std::string_view sentence) const {
    const std::size_t size = splitter_.skip_line_marks(sentence);
    return size < sentence.size() ? size : 0;
  }

  const SentenceSplitter& splitter_;
  std::vector<TextSentence> sentences_;
  std::string space_;  // after the last sentence
};

/// Returns the end of the line that begins at `begin`, with its line feed.
std::size_t find_line_end(std::string_view text, std::size_t begin) {
  return std::min(text.find('\n', begin), text.size() - 1) + 1;
}

}  // namespace

std::string TextSentence::line() const {
  std::string line;
  bool is_after_break = false;
  for_each_code_point(text, [&](CodePoint point, std::size_t offset) {
    const bool is_break = is_line_break(point.value);
    if (is_break && !is_after_break) line += ' ';
    if (!is_break) line += std::string_view(text).substr(offset, std::max<std::size_t>(point.size, 1));
    is_after_break = is_break;
  });
  return line;
}

bool TextDivider::is_copied(std::string_view line) {
  if (!fence_.empty()) {
    const bool closes = line.starts_with(fence_) && line.find_first_not_of(fence_.front()) == std::string_view::npos;
    if (closes) fence_.clear();
    return true;
  }
  fence_ = read_fence(line);
  return !fence_.empty() || is_time_code(line) || is_link_definition(line) || line == "WEBVTT";
}

std::vector<TextSentence> TextDivider::divide(std::string_view text) {
  SentenceList sentences(splitter_);
  std::size_t prose = 0;  // beginning of the text that was read and not added
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = find_line_end(text, begin);
    const std::string_view line = text.substr(begin, end - begin);
    const std::string_view content = strip_space(line);
    const bool copies = is_copied(content);
    if (copies || content.starts_with('|')) {
      sentences.add_prose(text.substr(prose, begin - prose));
      if (copies && !content.empty()) {
        const auto first = static_cast<std::size_t>(content.data() - line.data());
        sentences.add_space(line.substr(0, first));
        sentences.add_copied(content);
        sentences.add_space(line.substr(first + content.size()));
      } else if (copies) {
        sentences.add_space(line);
      } else {
        sentences.add_row(line);
      }
      prose = end;
    }
    begin = end;
  }
  sentences.add_prose(text.substr(prose));
  return sentences.take();
}

std::string SentenceJoiner::next(const TextSentence& sentence, const Translation& translation) {
  if (!sentence.needs_translation) return append(sentence.space + sentence.text);
  const std::string& output = translation.outputs.front().text;
  const bool begins_narrow = !output.empty() && !is_wide(text_point_at(output, 0).value);
  const bool has_space = !sentence.space.empty() || !needs_space_ || !begins_narrow;
  return append(sentence.space + (has_space ? "" : " ") + replace_line_feeds(output));
}

std::string SentenceJoiner::append(std::string text) {
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
