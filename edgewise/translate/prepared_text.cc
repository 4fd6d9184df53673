// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/prepared_text.h"

#include <algorithm>

#include "edgewise/base/utf8.h"
#include "edgewise/text/sentences/protected_spans.h"
#include "edgewise/text/sentences/sentence_marks.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

constexpr std::size_t kMostPlaceholders = 4;

/// Returns for each placeholder its token in a vocabulary, as far as it has them.
std::vector<std::int64_t> placeholders_of(const Vocabulary& vocabulary) {
  std::vector<std::optional<std::int64_t>> found(kMostPlaceholders);
  for (std::int64_t token = 0; token < vocabulary.size(); ++token) {
    const std::string_view text = vocabulary.token_text(token);
    if (!is_placeholder(text)) continue;
    for (std::size_t i = 0; i < kMostPlaceholders; ++i) {
      if (text == placeholder(static_cast<std::int64_t>(i))) found[i] = token;
    }
  }
  std::vector<std::int64_t> tokens;
  for (std::size_t i = 0; i < found.size() && found[i]; ++i) tokens.push_back(*found[i]);
  return tokens;
}

Beside kind_beside(CodePoint point) {
  if (point.size == 0) return Beside::kEdge;
  if (is_space(point.value)) return Beside::kSpace;
  if (!is_word_point(point.value)) return Beside::kMark;
  return has_letters_without_spaces(point.value) ? Beside::kSpace : Beside::kWord;
}

class TextPreparer {
 public:
  TextPreparer(std::string_view text, std::size_t num_placeholders, std::vector<TakenSpan>& taken)
      : text_(text), num_placeholders_(num_placeholders), taken_(taken) {}

  std::string run(const std::vector<ProtectedSpan>& spans) && {
    std::size_t end = 0;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      ByteRange bytes = spans[i].bytes;
      const bool is_placeholder = !spans[i].partner && num_used_ < num_placeholders_;
      if (!is_placeholder && !spans[i].partner) bytes = with_quotes(bytes, end, next_begin(spans, i));
      add_text(text_.substr(end, bytes.begin - end));
      add_span(spans[i], bytes, is_placeholder);
      end = bytes.end;
    }
    add_text(text_.substr(end));
    for (std::size_t i = 0; i < spans.size(); ++i) set_sides(i);
    return std::move(prepared_);
  }

 private:
  std::size_t next_begin(const std::vector<ProtectedSpan>& spans, std::size_t i) const {
    return i + 1 < spans.size() ? spans[i + 1].bytes.begin : text_.size();
  }

  /// Adds the quotes or brackets around a span that have nothing else within them.
  ByteRange with_quotes(ByteRange bytes, std::size_t first, std::size_t last) const {
    constexpr std::u32string_view kOpening = U"\"'([{\u201C\u2018\u201E\u00AB\u300C";
    constexpr std::u32string_view kClosing = U"\"')]}\u201D\u2019\u201C\u00BB\u300D";
    const CodePoint before = text_point_before(text_, bytes.begin);
    const CodePoint after = text_point_at(text_, bytes.end);
    const std::size_t pair = kOpening.find(before.value);
    const bool is_quoted = before.size > 0 && pair != std::u32string_view::npos && after.value == kClosing[pair] &&
                           bytes.begin - before.size >= first && bytes.end + after.size <= last;
    return is_quoted ? ByteRange{bytes.begin - before.size, bytes.end + after.size} : bytes;
  }

  /// Adds text of the sentence. Where a span was left out, one of the spaces on both its sides is left out, too, and
  /// two words are separated.
  void add_text(std::string_view text) {
    std::string visible = remove_invisible(text);
    if (visible.empty()) return;
    for_each_code_point(visible, [&](CodePoint point, std::size_t) {
      if (is_letter(point.value) || is_number(point.value)) first_last_ = ranges_.size();
    });
    if (is_after_gap_) {
      const char32_t before = text_point_before(prepared_, prepared_.size()).value;
      const bool has_space = prepared_.empty() || is_space(before);
      const std::string_view rest = strip_leading_space(visible);
      const char32_t next = text_point_at(rest, 0).value;
      if (has_space && rest.size() < visible.size()) visible = std::string(rest);
      if (has_space && !prepared_.empty() && attaches_to_word(next) && rest.size() == visible.size()) {
        prepared_.resize(strip_trailing_space(prepared_).size());
      }
      const bool joins_words = kind_beside(text_point_before(prepared_, prepared_.size())) == Beside::kWord &&
                               kind_beside(text_point_at(visible, 0)) == Beside::kWord;
      if (joins_words) prepared_ += ' ';
      for (std::size_t i = taken_.size(); i-- > first_in_gap_;) taken_[i].offset = prepared_.size();
    }
    prepared_ += visible;
    is_after_gap_ = false;
  }

  void add_span(const ProtectedSpan& span, const ByteRange& bytes, bool is_placeholder) {
    TakenSpan taken = {.bytes = std::string(text_.substr(bytes.begin, bytes.size())),
                       .offset = prepared_.size(),
                       .partner = span.partner};
    ranges_.push_back(bytes);
    if (is_placeholder) {
      taken.placeholder = num_used_;
      prepared_ += placeholder(static_cast<std::int64_t>(num_used_++));
      is_after_gap_ = false;
    } else {
      if (!is_after_gap_) first_in_gap_ = taken_.size();
      is_after_gap_ = true;
    }
    taken_.push_back(std::move(taken));
  }

  void set_sides(std::size_t i) {
    TakenSpan& span = taken_[i];
    const ByteRange& bytes = ranges_[i];
    const bool follows = i > 0 && ranges_[i - 1].end == bytes.begin;
    const bool precedes = i + 1 < ranges_.size() && ranges_[i + 1].begin == bytes.end;
    span.before = follows ? Beside::kSpan : kind_beside(text_point_before(text_, bytes.begin));
    span.after = precedes ? Beside::kSpan : kind_beside(text_point_at(text_, bytes.end));
    span.is_last = i >= first_last_;
  }

  std::string_view text_;
  std::size_t num_placeholders_;
  std::vector<TakenSpan>& taken_;
  std::size_t num_used_ = 0;
  std::string prepared_;
  std::vector<ByteRange> ranges_;  // the spans in the sentence
  std::size_t first_last_ = 0;     // first span after the last word
  bool is_after_gap_ = false;      // whether a span was left out at the end of the model's text
  std::size_t first_in_gap_ = 0;   // first of the spans that were left out there
};

}  // namespace

Placeholders find_placeholders(const Vocabulary& input, const Vocabulary& output) {
  Placeholders placeholders = {placeholders_of(input), placeholders_of(output)};
  const std::size_t count = std::min(placeholders.input.size(), placeholders.output.size());
  placeholders.input.resize(count);
  placeholders.output.resize(count);
  return placeholders;
}

std::string prepare_text(std::string_view text, std::size_t num_placeholders, const KnownCharacters& known,
                         std::vector<TakenSpan>& taken) {
  const std::vector<ProtectedSpan> spans = known.add_unknown_words(text, find_protected_spans(text));
  if (!needs_translation(text, spans)) {
    if (strip_space(text).empty()) return std::string(text);
    taken.push_back({.bytes = std::string(text), .is_last = true});
    return {};
  }
  if (spans.empty()) return remove_invisible(text);
  return TextPreparer(text, num_placeholders, taken).run(spans);
}

}  // namespace edgewise
