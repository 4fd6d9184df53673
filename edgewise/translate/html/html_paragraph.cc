// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/html/html_paragraph.h"

#include <algorithm>
#include <utility>

#include "edgewise/text/sentences/protected_spans.h"
#include "edgewise/translate/html/html_elements.h"

namespace edgewise {
namespace {

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

ParagraphText read_paragraph(std::vector<InlineItem> items) { return ParagraphReader().read(std::move(items)); }

}  // namespace edgewise
