// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "edgewise/translate/html/html_elements.h"

namespace edgewise {

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
