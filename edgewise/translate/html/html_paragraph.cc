// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/html/html_paragraph.h"

#include <algorithm>
#include <utility>

#include "edgewise/base/ascii.h"
#include "edgewise/base/escape_html.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/sentences/protected_spans.h"
#include "edgewise/text/unicode.h"
#include "edgewise/translate/html/html_elements.h"

namespace edgewise {
namespace {

/// Sums over the items up to one, so that any range of items is known in constant time.
struct Content {
  std::size_t words = 0;    // items with letters, and line breaks
  std::size_t texts = 0;    // other items with text
  std::size_t symbols = 0;  // items with a number, or a symbol beyond ASCII
};

Content content_of(const InlineItem& item) {
  if (item.kind == InlineKind::kLineBreak) return {.words = 1};
  if (item.kind != InlineKind::kText) return {};
  Content content = {.texts = 1};
  for_each_code_point(item.bytes, [&](CodePoint point, std::size_t) {
    if (point.size == 0 || is_letter(point.value)) content.words = 1;
    const bool is_sign = point.value >= 0x80 && is_symbol(point.value) && point.value != kReplacementCharacter;
    if (is_number(point.value) || is_sign) content.symbols = 1;
  });
  return content;
}

/// Returns for each start tag the number of its end tag.
std::vector<std::size_t> find_ends(const std::vector<InlineItem>& items) {
  std::vector<std::size_t> ends(items.size());
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].kind == InlineKind::kStartTag) open.push_back(i);
    if (items[i].kind != InlineKind::kEndTag) continue;
    ends[open.back()] = i;
    open.pop_back();
  }
  return ends;
}

bool is_script(std::string_view name) { return equal_without_case(name, "sup") || equal_without_case(name, "sub"); }

class ParagraphReader {
 public:
  ParagraphText read(std::vector<InlineItem> items) {
    for (InlineItem& item : items) add(std::move(item));
    return std::move(paragraph_);
  }

 private:
  void add(InlineItem item) {
    switch (item.kind) {
      case InlineKind::kText:
        add_text(item.bytes);
        break;
      case InlineKind::kSpace:
        add_piece(PieceKind::kSpace, std::move(item.bytes));
        break;
      case InlineKind::kStartTag:
        begin_element(std::move(item));
        break;
      case InlineKind::kEndTag:
        add_piece(PieceKind::kEndTag, std::move(item.bytes));
        element_ = paragraph_.elements[static_cast<std::size_t>(element_)].parent;
        break;
      case InlineKind::kLineBreak:
        add_piece(PieceKind::kLineBreak, std::move(item.bytes));
        begin_line();
        break;
      case InlineKind::kObject:
        add_text(kObjectCharacter);
        paragraph_.pieces.push_back({PieceKind::kObject, std::move(item.bytes),
                                     paragraph_.text.size() - kObjectCharacter.size(), line_, element_});
        begin_pieces_after_text();
        break;
      case InlineKind::kMarkup:
        add_piece(PieceKind::kMarkup, std::move(item.bytes));
        break;
    }
  }

  void add_piece(PieceKind kind, std::string bytes) {
    paragraph_.pieces.push_back({kind, std::move(bytes), paragraph_.text.size(), line_, element_});
  }

  void begin_element(InlineItem item) {
    const std::int32_t depth =
        element_ == kNoElement ? 0 : paragraph_.elements[static_cast<std::size_t>(element_)].depth + 1;
    paragraph_.elements.push_back(
        {item.bytes, item.written_name, element_, depth, item.is_repeated, has_id(item.bytes)});
    element_ = static_cast<std::int32_t>(paragraph_.elements.size()) - 1;
    add_piece(PieceKind::kStartTag, std::move(item.bytes));
  }

  void begin_line() {
    paragraph_.text += '\n';
    ++line_;
    begin_pieces_after_text();
    line_has_text_ = false;
  }

  void begin_pieces_after_text() { first_piece_ = paragraph_.pieces.size(); }

  void add_text(std::string_view text) {
    if (line_has_text_) join_spaces();
    if (paragraph_.spans.empty() || paragraph_.spans.back().element != element_) {
      paragraph_.spans.push_back({paragraph_.text.size(), element_});
    }
    paragraph_.text += text;
    line_has_text_ = true;
    begin_pieces_after_text();
  }

  /// Replaces the white space since the last text by one space in the text.
  void join_spaces() {
    std::vector<MarkupPiece>& pieces = paragraph_.pieces;
    const auto begin = pieces.begin() + static_cast<std::ptrdiff_t>(first_piece_);
    const auto is_space = [](const MarkupPiece& piece) { return piece.kind == PieceKind::kSpace; };
    const auto space = std::find_if(begin, pieces.end(), is_space);
    if (space == pieces.end()) return;
    paragraph_.text += ' ';
    for (auto piece = space; piece != pieces.end(); ++piece) piece->offset = paragraph_.text.size();
    pieces.erase(std::remove_if(space, pieces.end(), is_space), pieces.end());
  }

  ParagraphText paragraph_;
  std::int32_t element_ = kNoElement;
  std::size_t line_ = 0;
  bool line_has_text_ = false;
  std::size_t first_piece_ = 0;  // after the last text
};

}  // namespace

std::vector<InlineItem> join_objects(std::vector<InlineItem> items) {
  const bool has_elements =
      std::ranges::any_of(items, [](const InlineItem& item) { return item.kind == InlineKind::kStartTag; });
  if (!has_elements) return items;
  const std::vector<std::size_t> ends = find_ends(items);
  std::vector<Content> sums(items.size() + 1);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Content content = content_of(items[i]);
    sums[i + 1] = {sums[i].words + content.words, sums[i].texts + content.texts, sums[i].symbols + content.symbols};
  }
  std::vector<InlineItem> joined;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool is_start = items[i].kind == InlineKind::kStartTag && !items[i].is_repeated;
    const std::size_t end = is_start ? ends[i] : i;
    const bool has_words = sums[end + 1].words > sums[i].words;
    const bool is_shown = sums[end + 1].symbols > sums[i].symbols ||
                          (is_start && is_script(items[i].written_name) && sums[end + 1].texts > sums[i].texts);
    if (!is_start || has_words || !is_shown) {
      joined.push_back(std::move(items[i]));
      continue;
    }
    InlineItem object = {InlineKind::kObject};
    for (; i <= end; ++i) {
      const bool is_text = items[i].kind == InlineKind::kText;
      object.bytes += is_text ? escape_html(items[i].bytes, HtmlTextPlace::kContent) : items[i].bytes;
    }
    --i;
    joined.push_back(std::move(object));
  }
  return joined;
}

ParagraphText read_paragraph(std::vector<InlineItem> items) { return ParagraphReader().read(std::move(items)); }

}  // namespace edgewise
