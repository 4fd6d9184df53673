// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
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

struct OpenElement {
  std::string name;
  std::string_view written_name;
  std::string start_tag;
  bool is_block = false;  // whether its tags are outside of paragraphs
  std::size_t item = 0;   // number of an inline element's start tag in its paragraph
};

/// The stack of open elements, with indices that answer each question about it in constant time.
class ElementStack {
 public:
  explicit ElementStack(bool is_html) : is_html_(is_html) {}

  void push(OpenElement element) {
    const std::size_t index = elements_.size();
    by_name_[element.name].push_back(index);
    if (is_html_) push_html(element, index);
    elements_.push_back(std::move(element));
  }

  void pop() {
    const std::size_t index = size() - 1;
    by_name_[elements_.back().name].pop_back();
    for (auto* list : {&blocks_, &bounds_, &tables_, &optional_, &stops_}) {
      if (!list->empty() && list->back() == index) list->pop_back();
    }
    elements_.pop_back();
  }

  /// Makes the inline elements from `first` on elements with blocks in them.
  void make_blocks(std::size_t first) {
    for (std::size_t i = first; i < size(); ++i) {
      elements_[i].is_block = true;
      if (stops_.empty() || stops_.back() < i) stops_.push_back(i);
    }
  }

  std::size_t size() const { return elements_.size(); }
  const OpenElement& operator[](std::size_t index) const { return elements_[index]; }

  /// Finds the element that an end tag closes; nothing for an end tag without its element.
  std::optional<std::size_t> find(const std::string& name) const {
    const auto found = by_name_.find(name);
    if (found == by_name_.end() || found->second.empty()) return std::nullopt;
    const std::size_t index = found->second.back();
    if (!is_html_) return index;
    const auto& limits = !is_block_element(name) ? blocks_ : is_table_part(name) ? tables_ : bounds_;
    if (!limits.empty() && limits.back() > index) return std::nullopt;
    return index;
  }

  /// Finds the outermost element that the start tag of `next` closes.
  std::optional<std::size_t> find_closed_by(std::string_view next) const {
    std::optional<std::size_t> found;
    for (std::size_t i = optional_.size(); i-- > 0;) {
      if (!stops_.empty() && stops_.back() > optional_[i]) break;
      if (closes_element(next, elements_[optional_[i]].name)) found = optional_[i];
    }
    return found;
  }

 private:
  void push_html(const OpenElement& element, std::size_t index) {
    if (is_block_element(element.name)) blocks_.push_back(index);
    if (bounds_end_tags(element.name)) bounds_.push_back(index);
    if (element.name == "table") tables_.push_back(index);
    if (has_optional_end_tag(element.name)) {
      optional_.push_back(index);
    } else if (element.is_block || bounds_end_tags(element.name)) {
      stops_.push_back(index);
    }
  }

  bool is_html_;
  std::vector<OpenElement> elements_;
  std::unordered_map<std::string, std::vector<std::size_t>> by_name_;
  // Ascending indices: block elements; bounds of end tags; tables; elements that a start tag may close; those that end
  // the search for the latter.
  std::vector<std::size_t> blocks_;
  std::vector<std::size_t> bounds_;
  std::vector<std::size_t> tables_;
  std::vector<std::size_t> optional_;
  std::vector<std::size_t> stops_;
};

}  // namespace edgewise
