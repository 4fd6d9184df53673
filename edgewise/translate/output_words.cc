// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/output_words.h"

#include "edgewise/text/sentences/sentence_marks.h"
#include "edgewise/text/unicode.h"
#include "edgewise/translate/html/html_tokens.h"

namespace edgewise {
namespace {

bool is_word_boundary(std::string_view text, std::size_t offset) {
  if (offset == 0 || offset >= text.size()) return true;
  const char32_t before = text_point_before(text, offset).value;
  const char32_t after = code_point_at(text, offset).value;
  if (is_mark(after)) return is_space(before);
  return !is_word_point(before) || !is_word_point(after) || has_letters_without_spaces(before) ||
         has_letters_without_spaces(after);
}

/// Divides the text between two tokens, or around all tokens, at white space: the first part belongs to the word
/// before, the last one to the next word, and the others are words of their own.
class GapReader {
 public:
  GapReader(std::string_view text, std::vector<OutputWord>& words) : text_(text), words_(words) {}

  /// Returns the first byte of the gap's last part, with which the next word begins.
  std::size_t read(const ByteRange& gap) {
    std::size_t begin = gap.begin;
    for (std::size_t end = gap.begin; end < gap.end; ++end) {
      if (!is_html_space(text_[end])) continue;
      add_part({begin, end}, begin == gap.begin);
      if (text_[end] == '\n') ++line_;
      begin = end + 1;
    }
    return begin;
  }

  /// Reads the text after the last token, which no word follows.
  void read_rest(std::size_t begin) {
    const std::size_t last = read({begin, text_.size()});
    add_part({last, text_.size()}, last == begin);
  }

  /// Returns the number of line feeds in the gaps.
  std::size_t line() const { return line_; }

 private:
  void add_part(const ByteRange& part, bool is_first) {
    if (is_first && !words_.empty()) {
      words_.back().bytes.end = part.end;
    } else if (part.size() > 0) {
      words_.push_back({part, line_});
    }
  }

  std::string_view text_;
  std::vector<OutputWord>& words_;
  std::size_t line_ = 0;
};

}  // namespace

std::vector<OutputWord> join_tokens(const AlignedTranslation& translation) {
  std::vector<OutputWord> words;
  GapReader gaps(translation.text, words);
  std::size_t end = 0;
  auto pair = translation.alignment.begin();
  for (std::size_t i = 0; i < translation.output_tokens.size(); ++i) {
    const ByteRange& token = translation.output_tokens[i];
    if (token.size() > 0) {
      if (words.empty() || token.begin > end || is_word_boundary(translation.text, token.begin)) {
        const std::size_t begin = gaps.read({end, token.begin});
        words.push_back({{begin, begin}, gaps.line()});
      }
      words.back().bytes.end = token.end;
      end = token.end;
    }
    for (; pair != translation.alignment.end() && pair->output <= static_cast<std::int64_t>(i); ++pair) {
      const bool is_first = token.size() > 0 && !words.back().input_token;
      if (is_first) words.back().input_token = static_cast<std::size_t>(pair->input);
    }
  }
  gaps.read_rest(end);
  return words;
}

}  // namespace edgewise
