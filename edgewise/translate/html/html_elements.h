// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "edgewise/translate/html/html_tokens.h"

namespace edgewise {

// The properties of elements in the HTML standard, by their names in lower case.

/// Whether the element begins and ends a paragraph: its default style (section 15.3) is a block, a list item, or a part
/// of a table. Elements that the standard does not know are inline.
bool is_block_element(std::string_view name);

/// Whether the element has no content and no end tag, such as `img`.
bool is_void_element(std::string_view name);

/// Whether the element, with its content, shows nothing.
bool is_hidden_element(std::string_view name);

/// Whether the content is not prose: it is code, a formula, a drawing or text of fixed form, or not shown.
bool has_untranslated_content(std::string_view name);

/// Whether the content is SVG or MathML.
bool has_foreign_content(std::string_view name);

/// Whether elements outside `name` are not closed by end tags within it, such as a table's cell. End tags of parts of a
/// table are bounded by tables alone.
bool bounds_end_tags(std::string_view name);
bool is_table_part(std::string_view name);

/// Whether the end tag may be missing: a later start tag or the end of the parent closes the element.
bool has_optional_end_tag(std::string_view name);

/// Whether the start tag of `next` closes an open element `name` (section 13.1.2.4).
bool closes_element(std::string_view next, std::string_view name);

/// Whether HTML has an element of this name.
bool is_known_element(std::string_view name);

/// Returns a start tag without its attribute `id`.
std::string without_id(std::string_view start_tag);
bool has_id(std::string_view start_tag);

/// Whether attributes say that the content must not be translated: `translate="no"`, or the class `notranslate`.
bool forbids_translation(const HtmlToken& start_tag);

// Attributes whose values are texts: `title`, `alt`, `placeholder` and `aria-label`.

/// Appends the texts of a start tag's attributes, each in one line, and returns the tag with marks instead of their
/// values. A mark has bytes that are not UTF-8, and the number of the text.
std::string mark_text_attributes(const HtmlToken& start_tag, std::vector<std::string>& texts);

/// Returns HTML with quoted values instead of the marks; `values` are texts.
std::string replace_marks(std::string_view html, std::span<const std::string> values);

/// Returns the names, in lower case, of the elements of an XML document that divide its text: those that nowhere stand
/// beside text in the same element. Takes linear time.
std::unordered_set<std::string> find_xml_blocks(std::string_view xml);

}  // namespace edgewise
