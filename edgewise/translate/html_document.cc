// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/html_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "edgewise/base/escape_html.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/html_references.h"
#include "edgewise/text/html_tokens.h"
#include "edgewise/translate/html_elements.h"

namespace edgewise {
namespace {

constexpr std::size_t kMaxRepeatedTags = 8;  // a misplaced end tag repeats no more, so that repairs take linear time

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
  void push(OpenElement element) {
    const std::size_t index = elements_.size();
    by_name_[element.name].push_back(index);
    if (is_block_element(element.name)) blocks_.push_back(index);
    if (bounds_end_tags(element.name)) bounds_.push_back(index);
    if (element.name == "table") tables_.push_back(index);
    if (has_optional_end_tag(element.name)) {
      optional_.push_back(index);
    } else if (element.is_block || bounds_end_tags(element.name)) {
      stops_.push_back(index);
    }
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

/// Returns a comment or doctype with its end, also if the document ends within it.
std::string complete(const HtmlToken& token) {
  std::string bytes(token.source);
  if (token.is_complete) return bytes;
  if (token.kind == HtmlTokenKind::kText) return bytes + "]]>";
  return bytes + (bytes.starts_with("<!--") ? "-->" : ">");
}

/// Returns the end tags that end a script: two if the text ends within a script in a comment, because the first end tag
/// belongs to that script.
std::string script_end_tags(std::string_view text) {
  constexpr std::string_view kEndTag = "</script>";
  std::string closed = fmt::format("{}{}", text, kEndTag);
  HtmlTokenizer tokenizer(closed);
  tokenizer.set_text_kind(HtmlTextKind::kScript, "script");
  const auto first = tokenizer.next();
  const bool is_within_script = first->source.size() == closed.size() && first->kind == HtmlTokenKind::kText;
  return fmt::format("{}{}", kEndTag, is_within_script ? kEndTag : "");
}

std::string decode_text(std::string_view text) {
  std::string decoded = replace_bad_utf8(decode_html_references(text));
  std::string result;
  for (const char c : decoded) {
    if (c == '\0') {
      append_utf8(result, kReplacementCharacter);
    } else {
      result += c;
    }
  }
  return result;
}

class HtmlParser {
 public:
  explicit HtmlParser(std::string_view html) : tokenizer_(html) {}

  HtmlDocument parse() {
    while (const auto token = tokenizer_.next()) {
      switch (token->kind) {
        case HtmlTokenKind::kText:
          add_text(*token);
          break;
        case HtmlTokenKind::kStartTag:
          add_start_tag(*token);
          break;
        case HtmlTokenKind::kEndTag:
          add_end_tag(*token);
          break;
        case HtmlTokenKind::kComment:
        case HtmlTokenKind::kDoctype:
          add_markup(complete(*token), false);
      }
    }
    close_elements(0);
    end_paragraph();
    document_.after = std::move(literal_);
    return std::move(document_);
  }

 private:
  bool is_copying() const { return copied_element_.has_value(); }

  void add_text(const HtmlToken& token) {
    if (is_copying()) {
      if (token.text_kind == HtmlTextKind::kScript) script_text_ = token.text;
      copy(complete(token));
      if (token.text_kind == HtmlTextKind::kData) copied_text_ = copied_.size() - token.source.size();
      return;
    }
    const std::string text = decode_text(token.text);
    for (std::size_t begin = 0; begin < text.size();) {
      const bool is_space = is_html_space(text[begin]);
      std::size_t end = begin;
      while (end < text.size() && is_html_space(text[end]) == is_space) ++end;
      items_.push_back({is_space ? InlineKind::kSpace : InlineKind::kText, text.substr(begin, end - begin)});
      begin = end;
    }
  }

  /// Adds markup that has no text to translate and belongs to the paragraph.
  void add_markup(std::string bytes, bool is_shown) {
    if (is_copying()) {
      copy(bytes);
    } else {
      items_.push_back({.kind = InlineKind::kMarkup, .bytes = std::move(bytes), .is_shown = is_shown});
    }
  }

  bool begins_plaintext(const HtmlToken& start_tag) const {
    return start_tag.name == "plaintext" && foreign_depth_ == 0;
  }

  void add_start_tag(const HtmlToken& token) {
    if (foreign_depth_ == 0) {
      if (const auto closed = stack_.find_closed_by(token.name)) close_elements(*closed);
    }
    const bool is_foreign = foreign_depth_ > 0 || has_foreign_content(token.name);
    const bool is_empty = is_foreign ? token.is_self_closing : is_void_element(token.name);
    const bool is_block = !is_copying() && is_block_element(token.name);
    // Nothing can stand behind plaintext, so an inline element that is copied must not go elsewhere with it.
    if (is_block || begins_plaintext(token)) end_paragraph_before_block();
    if (is_empty) {
      add_empty_element(token, is_block);
    } else {
      open_element(token, is_block);
    }
  }

  void add_empty_element(const HtmlToken& token, bool is_block) {
    if (is_block) {
      literal_ += token.source;
    } else if (token.name == "br" && !is_copying()) {
      items_.push_back({InlineKind::kLineBreak, std::string(token.source)});
    } else {
      add_markup(std::string(token.source), !is_hidden_element(token.name) && token.name != "wbr");
    }
  }

  void open_element(const HtmlToken& token, bool is_block) {
    if (is_copying()) {
      copy(token.source);
    } else if (has_untranslated_content(token.name) || forbids_translation(token)) {
      copied_element_ = stack_.size();
      copy(token.source);
    } else if (is_block) {
      literal_ += token.source;
    } else {
      items_.push_back({InlineKind::kStartTag, std::string(token.source), token.written_name});
    }
    const std::size_t item = items_.empty() ? 0 : items_.size() - 1;
    script_text_ = {};
    stack_.push({token.name, token.written_name, std::string(token.source), is_block, item});
    if (has_foreign_content(token.name)) set_foreign_depth(foreign_depth_ + 1);
    is_open_ended_ = is_open_ended_ || begins_plaintext(token);
  }

  void add_end_tag(const HtmlToken& token) {
    const auto index = stack_.find(token.name);
    if (!index) {
      separate_copied_text();
      return;
    }
    std::vector<OpenElement> ended = inline_elements_after(*index);
    close_elements(*index + 1);
    close_last(std::string(token.source));
    for (OpenElement& element : ended) repeat(std::move(element));
  }

  /// Returns the inline elements that the end of an inline element ends too; none if there are too many.
  std::vector<OpenElement> inline_elements_after(std::size_t index) const {
    std::vector<OpenElement> elements;
    if (is_copying() || stack_[index].is_block || stack_.size() - index - 1 > kMaxRepeatedTags) return elements;
    for (std::size_t i = index + 1; i < stack_.size(); ++i) elements.push_back(stack_[i]);
    return elements;
  }

  void repeat(OpenElement element) {
    element.item = items_.size();
    items_.push_back({.kind = InlineKind::kStartTag,
                      .bytes = element.start_tag,
                      .written_name = element.written_name,
                      .is_repeated = true});
    stack_.push(std::move(element));
  }

  /// Closes the open elements from number `first` on.
  void close_elements(std::size_t first) {
    const bool is_text_open = copied_.ends_with('<') || copied_.ends_with("</");
    if (is_text_open && stack_.size() > first) separate_copied_text();
    while (stack_.size() > first) close_last(missing_end_tag());
  }

  std::string missing_end_tag() const {
    if (is_open_ended_) return {};
    const OpenElement& element = stack_[stack_.size() - 1];
    if (element.name == "script" && foreign_depth_ == 0) return script_end_tags(script_text_);
    return fmt::format("</{}>", element.written_name);
  }

  void close_last(const std::string& end_tag) {
    const std::size_t index = stack_.size() - 1;
    const OpenElement& element = stack_[index];
    const bool is_block = element.is_block;
    if (is_copying()) {
      copy(end_tag);
      if (*copied_element_ == index) end_copy(element);
    } else if (is_block) {
      end_paragraph();
      literal_ += end_tag;
    } else {
      items_.push_back({InlineKind::kEndTag, end_tag});
    }
    if (has_foreign_content(element.name)) set_foreign_depth(foreign_depth_ - 1);
    stack_.pop();
  }

  void copy(std::string_view bytes) {
    copied_ += bytes;
    copied_text_.reset();
  }

  void end_copy(const OpenElement& element) {
    copied_element_.reset();
    if (element.is_block) {
      end_paragraph();
      literal_ += copied_;
    } else {
      add_markup(std::move(copied_), !is_hidden_element(element.name));
    }
    copied_.clear();
  }

  /// Without an end tag that is left out, the text before it could join the text behind it to a tag or a reference. So
  /// could the beginning of a tag at the end of the text join an end tag that is added.
  void separate_copied_text() {
    if (!is_copying() || !copied_text_) return;
    const std::string text =
        escape_html(decode_html_references(std::string_view(copied_).substr(*copied_text_)), HtmlTextPlace::kContent);
    copied_.resize(*copied_text_);
    copied_ += text;
    copied_text_.reset();
  }

  void set_foreign_depth(std::int64_t depth) {
    foreign_depth_ = depth;
    tokenizer_.set_foreign(depth > 0);
  }

  /// Ends the paragraph in front of a block. Open inline elements contain the block: their start tags are no part of a
  /// paragraph.
  void end_paragraph_before_block() {
    std::vector<InlineItem> items = std::exchange(items_, {});
    std::size_t first = stack_.size();
    while (first > 0 && !stack_[first - 1].is_block) --first;
    auto begin = items.begin();
    const std::size_t end = copied_element_.value_or(stack_.size());
    for (std::size_t i = first; i < end; ++i) {
      const auto start_tag = items.begin() + static_cast<std::ptrdiff_t>(stack_[i].item);
      end_paragraph(std::vector(std::move_iterator(begin), std::move_iterator(start_tag)));
      literal_ += start_tag->bytes;
      begin = start_tag + 1;
    }
    end_paragraph(std::vector(std::move_iterator(begin), std::move_iterator(items.end())));
    stack_.make_blocks(first);
  }

  void end_paragraph() { end_paragraph(std::exchange(items_, {})); }

  void end_paragraph(std::vector<InlineItem> items) {
    const bool has_text = std::ranges::any_of(items, [](const auto& item) { return item.kind == InlineKind::kText; });
    if (has_text) {
      document_.paragraphs.push_back({std::exchange(literal_, {}), std::move(items)});
    } else {
      for (const InlineItem& item : items) literal_ += item.bytes;
    }
  }

  HtmlTokenizer tokenizer_;
  ElementStack stack_;
  HtmlDocument document_;
  std::string literal_;                        // HTML behind the last paragraph
  std::vector<InlineItem> items_;              // paragraph that has begun
  std::string copied_;                         // the element that is copied, so far
  std::optional<std::size_t> copied_element_;  // its number in the stack
  std::string_view script_text_;               // text of the script that was opened last
  std::optional<std::size_t> copied_text_;     // beginning of its last text, if nothing is behind this text
  std::int64_t foreign_depth_ = 0;             // number of open svg and math elements
  bool is_open_ended_ = false;                 // whether no end tag can end the rest, because it is plaintext
};

}  // namespace

HtmlDocument parse_html(std::string_view html) { return HtmlParser(html).parse(); }

}  // namespace edgewise
