// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/markup.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/escape_html.h"
#include "edgewise/text/html_references.h"
#include "edgewise/translate/html_document.h"
#include "edgewise/translate/html_paragraph.h"
#include "edgewise/translate/markup_places.h"
#include "edgewise/translate/output_words.h"

namespace edgewise {
namespace {

/// Writes the words of a translation with their elements, and the markup between them.
class ParagraphWriter {
 public:
  ParagraphWriter(const ParagraphText& paragraph, const AlignedTranslation& translation)
      : paragraph_(paragraph),
        text_(translation.text),
        words_(join_tokens(translation)),
        elements_(elements_of_words(paragraph, translation, words_)),
        places_(place_markup(paragraph, translation, words_, elements_)) {}

  std::string write() {
    std::size_t end = 0;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const ByteRange& word = words_[i].bytes;
      write_markup(i, false);
      if (word.begin > end) {
        enter(common_element(paragraph_.elements, i == 0 ? kNoElement : elements_[i - 1], elements_[i]));
        write_text({end, word.begin});
      }
      write_markup(i, true);
      enter(elements_[i]);
      write_text(word);
      end = word.end;
    }
    if (text_.find_first_not_of('\n', end) != std::string::npos) {
      enter(kNoElement);
      write_text({end, text_.size()});
    }
    while (next_place_ < places_.size()) write_piece(places_[next_place_++]);
    enter(kNoElement);
    return std::move(html_);
  }

 private:
  /// Writes the markup in front of a word: in front of the white space before the word, or behind it.
  void write_markup(std::size_t word, bool is_after_space) {
    for (; next_place_ < places_.size(); ++next_place_) {
      const MarkupPlace& place = places_[next_place_];
      const bool is_on_this_line = place.line == words_[word].line;
      if (place.word > word || (place.word == word && is_on_this_line && place.is_after_space && !is_after_space))
        return;
      write_piece(place);
    }
  }

  void write_piece(const MarkupPlace& place) {
    const std::int32_t common = common_element(paragraph_.elements, current_, place.element);
    enter(place.opens_element ? place.element : common);
    html_ += paragraph_.pieces[place.piece].bytes;
  }

  /// Writes the end tags and start tags that lead from the current element to another one.
  void enter(std::int32_t element) {
    const std::vector<InlineElement>& elements = paragraph_.elements;
    const std::int32_t common = common_element(elements, current_, element);
    for (; current_ != common; current_ = elements[static_cast<std::size_t>(current_)].parent) {
      html_ += fmt::format("</{}>", elements[static_cast<std::size_t>(current_)].written_name);
    }
    std::vector<std::int32_t> opened;
    for (std::int32_t i = element; i != common; i = elements[static_cast<std::size_t>(i)].parent) opened.push_back(i);
    for (; !opened.empty(); opened.pop_back()) html_ += elements[static_cast<std::size_t>(opened.back())].start_tag;
    current_ = element;
  }

  void write_text(const ByteRange& bytes) {
    std::string text = text_.substr(bytes.begin, bytes.size());
    std::erase(text, '\n');  // the line break's tag is a piece of markup
    html_ += escape_html(text, HtmlTextPlace::kContent);
  }

  const ParagraphText& paragraph_;
  const std::string& text_;
  std::vector<OutputWord> words_;
  std::vector<std::int32_t> elements_;
  std::vector<MarkupPlace> places_;
  std::size_t next_place_ = 0;
  std::int32_t current_ = kNoElement;
  std::string html_;
};

/// Appends the lines of a text that have letters.
void append_lines(std::vector<std::string>& lines, std::string_view text) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) lines.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

void append_shifted(std::vector<ByteRange>& ranges, const std::vector<ByteRange>& added, std::size_t offset) {
  for (const ByteRange& range : added) ranges.push_back({range.begin + offset, range.end + offset});
}

/// Appends the translation of a line that begins at a byte of the input.
void append_line(AlignedTranslation& joined, const AlignedTranslation& line, std::size_t input_offset) {
  const auto first_input = std::ssize(joined.input_tokens);
  const auto first_output = std::ssize(joined.output_tokens);
  for (const auto& [input, output] : line.alignment)
    joined.alignment.push_back({input + first_input, output + first_output});
  append_shifted(joined.input_tokens, line.input_tokens, input_offset);
  append_shifted(joined.output_tokens, line.output_tokens, joined.text.size());
  joined.text += line.text;
  // A line feed in a translation would be the end of a line.
  std::replace(joined.text.end() - static_cast<std::ptrdiff_t>(line.text.size()), joined.text.end(), '\n', ' ');
}

/// Joins the translations of the lines of a text, from number `next` on, which becomes the number behind the last one.
AlignedTranslation join_lines(std::string_view text, std::span<const AlignedTranslation> lines, std::size_t& next) {
  AlignedTranslation joined;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) append_line(joined, lines[next++], begin);
    if (end < text.size()) joined.text += '\n';
    begin = end + 1;
  }
  return joined;
}

/// A document whose text is divided into lines.
class MarkupDocument {
 public:
  explicit MarkupDocument(std::string_view html) : document_(parse_html(html)) {
    for (HtmlParagraph& paragraph : document_.paragraphs) texts_.push_back(read_paragraph(std::move(paragraph.items)));
  }

  void append_lines_to(std::vector<std::string>& lines) const {
    for (const ParagraphText& paragraph : texts_) append_lines(lines, paragraph.text);
  }

  /// Writes the document with the translations from number `next` on, which becomes the number behind the last one.
  std::string write(std::span<const AlignedTranslation> translations, std::size_t& next) const {
    std::string html;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const AlignedTranslation translation = join_lines(texts_[i].text, translations, next);
      html += document_.paragraphs[i].before + ParagraphWriter(texts_[i], translation).write();
    }
    return html + document_.after;
  }

 private:
  HtmlDocument document_;
  std::vector<ParagraphText> texts_;
};

}  // namespace

std::vector<std::string> translate_markups(std::span<const std::string> documents, const TranslateTexts& translate) {
  std::vector<MarkupDocument> parsed;
  std::vector<std::string> lines;
  for (const std::string& document : documents) {
    parsed.emplace_back(document);
    parsed.back().append_lines_to(lines);
  }
  const std::vector<AlignedTranslation> translations = translate(lines);
  check(translations.size() == lines.size(), "translate_markup: translate returns {} translations, needs {}",
        translations.size(), lines.size());
  std::vector<std::string> results;
  results.reserve(documents.size());
  std::size_t next = 0;
  for (const MarkupDocument& document : parsed) results.push_back(document.write(translations, next));
  return results;
}

std::string translate_markup(std::string_view html, const TranslateTexts& translate) {
  const std::string documents[] = {std::string(html)};
  return std::move(translate_markups(documents, translate).front());
}

}  // namespace edgewise
