// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace edgewise {

/// The language of a document. In XML, elements beside text are inline, and the others divide texts; there are neither
/// void elements nor scripts.
enum class MarkupSyntax { kHtml, kXml };

struct MarkupOptions {
  MarkupSyntax syntax = MarkupSyntax::kHtml;
  std::vector<std::string> copied = {};  // names of elements, in lower case, whose content is copied
};

/// The items of a paragraph: text without white space, white space, start and end tags of inline elements, line breaks,
/// objects, which show something that is not translated (an image, code, a formula, a number in an element of its own),
/// and markup that shows nothing, such as a comment or a whole script.
enum class InlineKind { kText, kSpace, kStartTag, kEndTag, kLineBreak, kObject, kMarkup };

struct InlineItem {
  InlineKind kind = InlineKind::kText;
  std::string bytes = {};              // decoded text in UTF-8; HTML of the other items
  std::string_view written_name = {};  // name of a start tag
  bool is_repeated = false;            // whether a repair of the document added a start tag
};

/// HTML that is not translated, and the paragraph after it. Each start tag of the paragraph has an end tag in it.
struct HtmlParagraph {
  std::string before;
  std::vector<InlineItem> items;  // at least one has text
};

struct HtmlDocument {
  std::vector<HtmlParagraph> paragraphs;
  std::string after;                    // HTML after the last paragraph
  std::vector<std::string> attributes;  // texts that marks in tags stand for (html_elements.h)
};

/// Divides a document in UTF-8 without NUL into paragraphs: block elements separate them. Takes linear time, whatever
/// the depth of the elements. Of the attributes, `title`, `alt`, `placeholder` and `aria-label` of HTML are texts,
/// unless the element is copied.
///
/// The tags of the result are nested, whatever those of the document are: an element that is not closed gets its end
/// tag where HTML ends the element or its parent, and an end tag without its element is left out. An inline element
/// that ends within another one, `<b>1<i>2</b>3</i>`, ends the other one too, which begins again after it. Elements
/// whose content is not prose (html_elements.h) are copied, and those without letters. Start tags, comments and copied
/// text keep their bytes. An element that begins a second time has no `id` there.
HtmlDocument parse_html(std::string_view html, const MarkupOptions& options = {});

}  // namespace edgewise
