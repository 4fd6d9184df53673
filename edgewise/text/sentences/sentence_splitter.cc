// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/sentences/sentence_splitter.h"

#include <algorithm>
#include <optional>

#include "edgewise/base/ascii.h"
#include "edgewise/text/sentences/abbreviation_rules.h"
#include "edgewise/text/sentences/sentence_marks.h"
#include "edgewise/text/sentences/stop_context.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

constexpr std::size_t kMarkSize = 3;
constexpr char32_t kByteOrderMark = 0xFEFF;

class TextScan {
 public:
  TextScan(std::string_view text, const AbbreviationRules& rules, LineBreaks line_breaks)
      : text_(text), rules_(rules), line_breaks_(line_breaks) {}

  std::vector<ByteRange> run() && {
    if (text_point_at(text_, 0).value == kByteOrderMark) offset_ = kMarkSize;
    while (offset_ < text_.size()) {
      const CodePoint point = text_point_at(text_, offset_);
      if (is_space(point.value)) {
        skip_space();
      } else if (is_stop_mark(point.value)) {
        pass_stop();
      } else {
        pass(point);
      }
    }
    end_sentence();
    return std::move(sentences_);
  }

 private:
  void skip_space() {
    const Gap gap = read_gap(text_, offset_);
    offset_ = gap.end;
    if (ends_at(gap)) end_sentence();
  }

  bool ends_at(const Gap& gap) const {
    if (gap.line_breaks == 0) return gap.has_tab;
    return line_breaks_ == LineBreaks::kEnd || gap.line_breaks > 1 || skip_list_mark(text_, gap.end) > gap.end;
  }

  void pass(CodePoint point) {
    begin_sentence();
    if (point.value == '"') sentence_.is_quote_open = !sentence_.is_quote_open;
    const bool is_word = is_letter(point.value) || is_number(point.value);
    if (is_word && !sentence_.first_word) {
      sentence_.first_word = offset_;
      sentence_.begins_lowercase = is_lowercase(point.value);
    }
    pass_bracket(point.value);
    offset_ += point.size;
    end_ = offset_;
  }

  /// Keeps where a Japanese quote began, because its stops do not end the sentence around the quote.
  void pass_bracket(char32_t mark) {
    if (mark == U'「' || mark == U'『') {
      if (bracket_depth_++ == 0) bracket_begin_ = offset_;
    } else if ((mark == U'」' || mark == U'』') && bracket_depth_ > 0) {
      --bracket_depth_;
    }
  }

  void pass_stop() {
    begin_sentence();
    const Stop stop = read_stop(text_, offset_, sentence_.is_quote_open);
    for (std::size_t i = stop.begin; i < stop.end;) {
      const CodePoint point = text_point_at(text_, i);
      if (point.value == '"') sentence_.is_quote_open = !sentence_.is_quote_open;
      pass_bracket(point.value);
      i += point.size;
    }
    offset_ = stop.end;
    end_ = offset_;
    if (is_in_bracket() || !sentence_.first_word) return;
    if (is_sentence_end(text_, stop, sentence_, rules_)) end_sentence();
  }

  /// A quote that is longer than this has lost its closing bracket.
  bool is_in_bracket() const {
    constexpr std::size_t kLongestQuote = 400;  // bytes
    return bracket_depth_ > 0 && offset_ - bracket_begin_ <= kLongestQuote;
  }

  void begin_sentence() {
    if (begin_) return;
    begin_ = offset_;
    sentence_ = {.begin = offset_};
  }

  void end_sentence() {
    if (begin_) sentences_.push_back({*begin_, end_});
    begin_.reset();
    bracket_depth_ = 0;
  }

  std::string_view text_;
  const AbbreviationRules& rules_;
  LineBreaks line_breaks_;
  std::vector<ByteRange> sentences_;
  std::size_t offset_ = 0;
  std::optional<std::size_t> begin_;  // the sentence's first byte; nothing between sentences
  std::size_t end_ = 0;               // after the last character that is not white space
  SentenceContext sentence_;
  int bracket_depth_ = 0;
  std::size_t bracket_begin_ = 0;
};

/// Returns the end of `>`, `##`, `[ ]` or `a)` and of the white space after it; `begin` if there is none.
std::size_t skip_quote_or_heading(std::string_view line, std::size_t begin) {
  constexpr std::size_t kMaxLevel = 6;
  const std::string_view rest = line.substr(begin);
  std::size_t size = 0;
  if (rest.starts_with('>')) {
    size = 1;
    if (rest.size() == 1 || rest[1] == '>') return begin + 1;
  } else if (rest.starts_with('#')) {
    size = std::min(rest.find_first_not_of('#'), rest.size());
    if (size > kMaxLevel) return begin;
  } else if (rest.starts_with("[ ]") || rest.starts_with("[x]") || rest.starts_with("[X]")) {
    size = 3;
  } else if (rest.size() > 2 && is_letter_of_ascii(rest[0]) && rest[1] == ')') {
    size = 2;
  }
  const Gap gap = read_gap(line, begin + size);
  return size > 0 && gap.end > begin + size ? gap.end : begin;
}

}  // namespace

SentenceSplitter::SentenceSplitter(std::string_view language, LineBreaks line_breaks)
    : rules_(&find_abbreviation_rules(language)), line_breaks_(line_breaks) {}

std::size_t SentenceSplitter::skip_line_marks(std::string_view line) const {
  std::size_t end = 0;
  for (;;) {
    std::size_t next = skip_list_mark(line, end);
    const bool is_number = next > end && is_ascii_digit(text_point_at(line, end).value);
    if (is_number && rules_->after_ordinals.contains(find_next_word(line, next).text)) return end;
    if (next == end) next = skip_quote_or_heading(line, end);
    if (next == end) return end;
    end = next;
  }
}

std::vector<ByteRange> SentenceSplitter::split(std::string_view text) const {
  return TextScan(text, *rules_, line_breaks_).run();
}

}  // namespace edgewise
