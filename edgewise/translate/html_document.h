// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace edgewise {

/// The items of a paragraph: text without white space, white space, start and end tags of inline
/// elements, line breaks, and markup without text to translate, such as an image, a comment or a whole script.
enum class InlineKind { kText, kSpace, kStartTag, kEndTag, kLineBreak, kMarkup };

struct InlineItem {
  InlineKind kind = InlineKind::kText;
  std::string bytes = {};              // decoded text in UTF-8; HTML of the other items
  std::string_view written_name = {};  // name of a start tag
  bool is_repeated = false;            // whether a repair of the document added a start tag
  bool is_shown = false;               // whether markup shows something, so that it separates words
};

/// HTML that is not translated, and the paragraph behind it. Each start tag of the paragraph has an end tag in it.
struct HtmlParagraph {
  std::string before;
  std::vector<InlineItem> items;  // at least one has text
};

struct HtmlDocument {
  std::vector<HtmlParagraph> paragraphs;
  std::string after;  // HTML behind the last paragraph
};

/// Divides a document in UTF-8 into paragraphs: block elements separate them. Accepts all bytes; those of a
/// text that are not UTF-8 become U+FFFD. Takes linear time, whatever the depth of the elements.
///
/// The tags of the result are nested, whatever those of the document are: an element that is not closed gets its end
/// tag where HTML ends the element or its parent, and an end tag without its element is left out. An inline element
/// that ends within another one, `<b>1<i>2</b>3</i>`, ends the other one too, which begins again behind it. Elements
/// whose content is not prose (html_elements.h) are copied. Start tags, comments and copied text keep their bytes.
HtmlDocument parse_html(std::string_view html);

}  // namespace edgewise
