// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/html/html_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "edgewise/base/escape_html.h"
#include "edgewise/text/sentences/protected_spans.h"
#include "edgewise/translate/html/html_elements.h"
#include "edgewise/translate/html/html_paragraph.h"
#include "edgewise/translate/html/html_references.h"
#include "edgewise/translate/html/html_tokens.h"

namespace edgewise {
namespace {

constexpr std::size_t kMaxRepeatedTags = 8;  // a misplaced end tag repeats no more, so that repairs take linear time

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

class HtmlParser {
 public:
  HtmlParser(std::string_view html, const MarkupOptions& options)
      : is_html_(options.syntax == MarkupSyntax::kHtml),
        copied_names_(options.copied.begin(), options.copied.end()),
        tokenizer_(html),
        stack_(is_html_) {
    if (is_html_) return;
    block_names_ = find_xml_blocks(html);
    tokenizer_.set_foreign(true);
  }

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
    const bool is_cdata = token.text_kind == HtmlTextKind::kCdata;
    const std::string text = is_cdata ? std::string(token.text) : decode_html_references(token.text);
    const auto is_object_at = [&](std::size_t offset) {
      return text.compare(offset, kObjectCharacter.size(), kObjectCharacter) == 0;
    };
    for (std::size_t begin = 0; begin < text.size();) {
      std::size_t end = begin;
      InlineKind kind = InlineKind::kText;
      if (is_object_at(begin)) {
        kind = InlineKind::kObject;
        end += kObjectCharacter.size();
      } else if (is_html_space(text[begin])) {
        kind = InlineKind::kSpace;
        while (end < text.size() && is_html_space(text[end])) ++end;
      } else {
        while (end < text.size() && !is_html_space(text[end]) && !is_object_at(end)) ++end;
      }
      items_.push_back({kind, text.substr(begin, end - begin)});
      begin = end;
    }
  }

  /// Adds markup that has no text to translate and belongs to the paragraph.
  void add_markup(std::string bytes, bool is_shown) {
    if (is_copying()) {
      copy(bytes);
    } else {
      items_.push_back({is_shown ? InlineKind::kObject : InlineKind::kMarkup, std::move(bytes)});
    }
  }

  bool begins_plaintext(const HtmlToken& start_tag) const {
    return is_html_ && start_tag.name == "plaintext" && foreign_depth_ == 0;
  }

  bool is_block(std::string_view name) const {
    return is_html_ ? is_block_element(name) : block_names_.contains(std::string(name));
  }

  bool is_foreign(std::string_view name) const { return is_html_ && has_foreign_content(name); }

  /// Elements that HTML does not know may end in their start tags, as in XML: `<x id="1"/>`.
  bool is_empty(const HtmlToken& start_tag) const {
    if (!is_html_ || foreign_depth_ > 0 || has_foreign_content(start_tag.name)) return start_tag.is_self_closing;
    return is_void_element(start_tag.name) || (start_tag.is_self_closing && !is_known_element(start_tag.name));
  }

  bool copies_content(const HtmlToken& start_tag) const {
    return (is_html_ && has_untranslated_content(start_tag.name)) || copied_names_.contains(start_tag.name) ||
           forbids_translation(start_tag);
  }

  /// Returns the bytes of a start tag, with marks instead of the texts of attributes.
  std::string mark_attributes(const HtmlToken& token) {
    const bool has_texts = is_html_ && !is_copying() && !forbids_translation(token);
    return has_texts ? mark_text_attributes(token, document_.attributes) : std::string(token.source);
  }

  void add_start_tag(const HtmlToken& token) {
    if (is_html_ && foreign_depth_ == 0) {
      if (const auto closed = stack_.find_closed_by(token.name)) close_elements(*closed);
    }
    const bool is_block = !is_copying() && this->is_block(token.name);
    // Nothing can follow plaintext, so an inline element that is copied must not go elsewhere with it.
    if (is_block || begins_plaintext(token)) end_paragraph_before_block();
    if (is_empty(token)) {
      add_empty_element(token, is_block);
    } else {
      open_element(token, is_block);
    }
  }

  void add_empty_element(const HtmlToken& token, bool is_block) {
    if (is_block) {
      literal_ += mark_attributes(token);
    } else if (is_html_ && token.name == "br" && !is_copying()) {
      items_.push_back({InlineKind::kLineBreak, std::string(token.source)});
    } else {
      const bool is_shown = !is_html_ || (!is_hidden_element(token.name) && token.name != "wbr");
      add_markup(mark_attributes(token), is_shown);
    }
  }

  void open_element(const HtmlToken& token, bool is_block) {
    const std::string start_tag = mark_attributes(token);
    if (is_copying()) {
      copy(start_tag);
    } else if (copies_content(token)) {
      copied_element_ = stack_.size();
      copy(start_tag);
    } else if (is_block) {
      literal_ += start_tag;
    } else {
      items_.push_back({InlineKind::kStartTag, start_tag, token.written_name});
    }
    const std::size_t item = items_.empty() ? 0 : items_.size() - 1;
    script_text_ = {};
    stack_.push({token.name, token.written_name, start_tag, is_block, item});
    if (is_foreign(token.name)) set_foreign_depth(foreign_depth_ + 1);
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
    element.start_tag = without_id(element.start_tag);
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
    if (is_html_ && element.name == "script" && foreign_depth_ == 0) return script_end_tags(script_text_);
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
    if (is_foreign(element.name)) set_foreign_depth(foreign_depth_ - 1);
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
      add_markup(std::move(copied_), !is_html_ || !is_hidden_element(element.name));
    }
    copied_.clear();
  }

  /// Without an end tag that is left out, the text before it could join the text after it to a tag or a reference. So
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
    items = join_objects(std::move(items));
    const bool has_text = std::ranges::any_of(items, [](const auto& item) { return item.kind == InlineKind::kText; });
    if (has_text) {
      document_.paragraphs.push_back({std::exchange(literal_, {}), std::move(items)});
    } else {
      for (const InlineItem& item : items) literal_ += item.bytes;
    }
  }

  bool is_html_;
  std::unordered_set<std::string> copied_names_;
  std::unordered_set<std::string> block_names_;  // elements of XML that divide its text
  HtmlTokenizer tokenizer_;
  ElementStack stack_;
  HtmlDocument document_;
  std::string literal_;                        // HTML after the last paragraph
  std::vector<InlineItem> items_;              // paragraph that has begun
  std::string copied_;                         // the element that is copied, so far
  std::optional<std::size_t> copied_element_;  // its number in the stack
  std::string_view script_text_;               // text of the script that was opened last
  std::optional<std::size_t> copied_text_;     // beginning of its last text, if nothing follows this text
  std::int64_t foreign_depth_ = 0;             // number of open svg and math elements
  bool is_open_ended_ = false;                 // whether no end tag can end the rest, because it is plaintext
};

}  // namespace

HtmlDocument parse_html(std::string_view html, const MarkupOptions& options) {
  return HtmlParser(html, options).parse();
}

}  // namespace edgewise
