// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/markup.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/escape_html.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/sentences/protected_spans.h"
#include "edgewise/translate/html/html_elements.h"
#include "edgewise/translate/html/html_paragraph.h"
#include "edgewise/translate/markup_places.h"
#include "edgewise/translate/output_words.h"

namespace edgewise {
namespace {

/// Finds out which object each U+FFFC of a translation is: the one of the aligned token, or else the next one that no
/// token has.
class TextObjects {
 public:
  TextObjects(const ParagraphText& paragraph, const AlignedTranslation& translation)
      : is_in_text_(paragraph.pieces.size()) {
    for (std::size_t i = 0; i < paragraph.pieces.size(); ++i) {
      if (paragraph.pieces[i].kind == PieceKind::kObject) objects_.push_back({paragraph.pieces[i].offset, i});
    }
    if (objects_.empty()) return;
    for (const auto& [input, output] : translation.alignment) {
      join(translation.input_tokens[static_cast<std::size_t>(input)],
           translation.output_tokens[static_cast<std::size_t>(output)], translation.text);
    }
    auto next = objects_.begin();
    for_each_object(translation.text, {0, translation.text.size()}, [&](std::size_t offset) {
      while (next != objects_.end() && is_in_text_[next->piece]) ++next;
      if (next != objects_.end() && !pieces_.contains(offset)) add(offset, next->piece);
    });
  }

  /// Returns the piece that is the object at an offset of the translation; nothing if the translation has too many.
  std::optional<std::size_t> find(std::size_t offset) const {
    const auto found = pieces_.find(offset);
    return found == pieces_.end() ? std::nullopt : std::optional(found->second);
  }

  const std::vector<bool>& is_in_text() const { return is_in_text_; }

 private:
  struct Object {
    std::size_t offset;  // in the paragraph's text
    std::size_t piece;
  };

  template <class Visit>
  static void for_each_object(std::string_view text, const ByteRange& bytes, const Visit& visit) {
    for (std::size_t i = text.find(kObjectCharacter, bytes.begin); i < bytes.end;
         i = text.find(kObjectCharacter, i + 1)) {
      visit(i);
    }
  }

  void join(const ByteRange& input, const ByteRange& output, std::string_view text) {
    auto object = std::ranges::lower_bound(objects_, input.begin, {}, &Object::offset);
    for_each_object(text, output, [&](std::size_t offset) {
      while (object != objects_.end() && object->offset < input.end && is_in_text_[object->piece]) ++object;
      if (object == objects_.end() || object->offset >= input.end || pieces_.contains(offset)) return;
      add(offset, object->piece);
    });
  }

  void add(std::size_t offset, std::size_t piece) {
    pieces_[offset] = piece;
    is_in_text_[piece] = true;
  }

  std::vector<Object> objects_;
  std::unordered_map<std::size_t, std::size_t> pieces_;  // by offset in the translation
  std::vector<bool> is_in_text_;
};

/// Writes the words of a translation with their elements, and the markup between them.
class ParagraphWriter {
 public:
  ParagraphWriter(const ParagraphText& paragraph, const AlignedTranslation& translation)
      : paragraph_(paragraph),
        text_(translation.text),
        objects_(paragraph, translation),
        words_(join_tokens(translation)),
        elements_(elements_of_words(paragraph, translation, words_)),
        is_written_(paragraph.elements.size()),
        places_(place_markup(paragraph, translation, words_, elements_, objects_.is_in_text())) {
    keep_numbered_elements_open();
  }

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
  /// Writes the markup in front of a word: in front of the white space before the word, or after it.
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
    for (; !opened.empty(); opened.pop_back()) {
      const auto number = static_cast<std::size_t>(opened.back());
      html_ += is_written_[number] && elements[number].has_id ? without_id(elements[number].start_tag)
                                                              : elements[number].start_tag;
      is_written_[number] = true;
    }
    current_ = element;
  }

  /// Puts markup between two words of an element with an `id` into the element, which then needs no second start tag.
  void keep_numbered_elements_open() {
    const auto has_id = [&](std::int32_t element) {
      for (; element != kNoElement; element = paragraph_.elements[static_cast<std::size_t>(element)].parent) {
        if (paragraph_.elements[static_cast<std::size_t>(element)].has_id) return true;
      }
      return false;
    };
    for (MarkupPlace& place : places_) {
      if (place.word == 0 || place.word >= words_.size()) continue;
      const std::int32_t around = common_element(paragraph_.elements, elements_[place.word - 1], elements_[place.word]);
      const bool is_within = common_element(paragraph_.elements, around, place.element) == around;
      if (around != kNoElement && !is_within && has_id(around)) place.element = around;
    }
  }

  void write_text(const ByteRange& bytes) {
    for (std::size_t begin = bytes.begin; begin < bytes.end;) {
      const std::size_t end = std::min(text_.find(kObjectCharacter, begin), bytes.end);
      std::string text = text_.substr(begin, end - begin);
      std::erase(text, '\n');  // the line break's tag is a piece of markup
      html_ += escape_html(text, HtmlTextPlace::kContent);
      begin = end;
      if (end == bytes.end) break;
      if (const auto piece = objects_.find(end)) html_ += paragraph_.pieces[*piece].bytes;
      begin += kObjectCharacter.size();
    }
  }

  const ParagraphText& paragraph_;
  const std::string& text_;
  TextObjects objects_;
  std::vector<OutputWord> words_;
  std::vector<std::int32_t> elements_;
  std::vector<bool> is_written_;  // for each element whether it has begun
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

/// Appends the translation of a line that begins at a byte of the input.
void append_line(AlignedTranslation& joined, const AlignedTranslation& line, std::size_t input_offset) {
  append_tokens(joined, line, input_offset, joined.text.size());
  joined.text += line.text;
  // A line feed in a translation would be the end of a line.
  std::replace(joined.text.end() - static_cast<std::ptrdiff_t>(line.text.size()), joined.text.end(), '\n', ' ');
}

/// Joins the translations of the lines of a text, from number `next` on, which becomes the number after the last one.
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

/// Returns the document in UTF-8, without NUL, which HTML does not allow: U+FFFD stands for both.
std::string replace_bad_characters(std::string_view document) {
  std::string readable = replace_bad_utf8(document);
  if (readable.find('\0') == std::string::npos) return readable;
  std::string result;
  for (const char& c : readable) result += c == '\0' ? "\uFFFD" : std::string_view(&c, 1);
  return result;
}

/// A document whose text is divided into lines.
class MarkupDocument {
 public:
  MarkupDocument(std::string_view html, const MarkupOptions& options) : document_(parse_html(html, options)) {
    for (HtmlParagraph& paragraph : document_.paragraphs) texts_.push_back(read_paragraph(std::move(paragraph.items)));
  }

  void append_lines_to(std::vector<std::string>& lines) const {
    for (const ParagraphText& paragraph : texts_) append_lines(lines, paragraph.text);
    lines.insert(lines.end(), document_.attributes.begin(), document_.attributes.end());
  }

  /// Writes the document with the translations from number `next` on, which becomes the number after the last one.
  std::string write(std::span<const AlignedTranslation> translations, std::size_t& next) const {
    std::string html;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const AlignedTranslation translation = join_lines(texts_[i].text, translations, next);
      html += document_.paragraphs[i].before + ParagraphWriter(texts_[i], translation).write();
    }
    html += document_.after;
    if (document_.attributes.empty()) return html;
    std::vector<std::string> values;
    for (std::size_t i = 0; i < document_.attributes.size(); ++i) values.push_back(translations[next++].text);
    return replace_marks(html, values);
  }

 private:
  HtmlDocument document_;
  std::vector<ParagraphText> texts_;
};

}  // namespace

void append_tokens(AlignedTranslation& whole, const AlignedTranslation& part, std::size_t input_begin,
                   std::size_t output_begin) {
  const auto first_input = std::ssize(whole.input_tokens);
  const auto first_output = std::ssize(whole.output_tokens);
  for (const auto& [input, output] : part.alignment) {
    whole.alignment.push_back({input + first_input, output + first_output});
  }
  for (const auto& [begin, end] : part.input_tokens) {
    whole.input_tokens.push_back({begin + input_begin, end + input_begin});
  }
  for (const auto& [begin, end] : part.output_tokens) {
    whole.output_tokens.push_back({begin + output_begin, end + output_begin});
  }
}

std::vector<std::string> translate_markups(std::span<const std::string> documents, const TranslateTexts& translate,
                                           const MarkupOptions& options) {
  std::vector<std::string> readable;
  for (const std::string& document : documents) readable.push_back(replace_bad_characters(document));
  std::vector<MarkupDocument> parsed;
  std::vector<std::string> lines;
  for (const std::string& document : readable) {
    parsed.emplace_back(document, options);
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

std::string translate_markup(std::string_view html, const TranslateTexts& translate, const MarkupOptions& options) {
  const std::string documents[] = {std::string(html)};
  return std::move(translate_markups(documents, translate, options).front());
}

}  // namespace edgewise
