// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/translate/html/html_document.h"

namespace edgewise {

/// Replaces each inline element of a paragraph by one object if it shows something, but has no letter and no line
/// break:
/// `<sup><a href="#n1">[1]</a></sup>`, `<sub>2</sub>`, `<b>5</b>`. Its text must have a number or a symbol beyond
/// ASCII, in `sub` and `sup` any character; other marks belong to the sentence around the element. Of elements within
/// each other, the outermost is replaced.
std::vector<InlineItem> join_objects(std::vector<InlineItem> items);

inline constexpr std::int32_t kNoElement = -1;

/// An inline element of a paragraph.
struct InlineElement {
  std::string start_tag;
  std::string_view written_name;
  std::int32_t parent = kNoElement;
  std::int32_t depth = 0;
  bool is_repeated = false;
  bool has_id = false;
};

enum class PieceKind { kStartTag, kEndTag, kSpace, kLineBreak, kObject, kMarkup };

/// Markup between two letters of a paragraph's text, or an object in it.
struct MarkupPiece {
  PieceKind kind = PieceKind::kMarkup;
  std::string bytes;
  std::size_t offset = 0;             // in the text; of an object: of its U+FFFC
  std::size_t line = 0;               // number of line breaks before it
  std::int32_t element = kNoElement;  // element of a tag; otherwise the innermost element around the piece
};

/// From `offset` to the next span, the text is in `element`.
struct TextSpan {
  std::size_t offset = 0;
  std::int32_t element = kNoElement;
};

/// The text of a paragraph and its markup, which refers to the text. A parent has a smaller number than its elements.
struct ParagraphText {
  std::string text;  // lines with line feeds between them; single spaces inside lines; U+FFFC for each object
  std::vector<TextSpan> spans;
  std::vector<InlineElement> elements;
  std::vector<MarkupPiece> pieces;  // in the order of the document, with the tags of all elements
};

/// Takes the bytes of the items.
ParagraphText read_paragraph(std::vector<InlineItem> items);

}  // namespace edgewise
