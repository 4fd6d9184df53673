// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/text/byte_range.h"

namespace edgewise {

enum class HtmlTokenKind { kText, kStartTag, kEndTag, kComment, kDoctype };

/// The syntax of text, which depends on the element that has the text: ordinary content; text with character references
/// but without tags (title); text without both (style); a script; all bytes to the end (plaintext); the content of
/// `<![CDATA[`.
enum class HtmlTextKind { kData, kRcdata, kRawText, kScript, kPlaintext, kCdata };

/// The bytes of an attribute, as they are written. An attribute may have no value.
struct HtmlAttribute {
  std::string_view name;
  std::string_view value;  // without quotes; character references are not decoded
};

/// A part of an HTML document. All views are views of the document.
struct HtmlToken {
  HtmlTokenKind kind = HtmlTokenKind::kText;
  std::string_view source;                // all bytes of the token
  std::string_view text = {};             // characters of text, with character references in kData and kRcdata
  HtmlTextKind text_kind = {};            // syntax of text
  std::string_view written_name = {};     // name of a tag
  std::string name = {};                  // name of a tag in lower case; empty for the end tag `</>`
  std::vector<HtmlAttribute> attributes;  // attributes of a tag
  bool is_self_closing = false;           // whether a tag ends with `/>`
  bool is_complete = true;                // false for markup within which the document ends
};

/// Returns where a tag has the value of an attribute, with quotes; the attribute needs a value.
ByteRange find_value(const HtmlToken& tag, const HtmlAttribute& attribute);

/// Splits a document into tokens as section 13.2.5 of the HTML standard does. Accepts all bytes, and takes linear time.
/// The sources of the tokens, one after another, are the document, but for a tag within which the document ends: the
/// standard drops such a tag.
class HtmlTokenizer {
 public:
  explicit HtmlTokenizer(std::string_view html) : html_(html) {}

  /// Returns nullopt at the end.
  std::optional<HtmlToken> next();

  /// Declares the syntax of the following text, but not kCdata. Text of kRcdata, kRawText and kScript ends before the
  /// end tag of `element`, a name in lower case. After a start tag, the tokenizer itself does so.
  void set_text_kind(HtmlTextKind kind, std::string_view element = {});

  /// Declares whether the following tokens are within an svg or math element, where `<![CDATA[` begins text and a start
  /// tag does not change the syntax of text.
  void set_foreign(bool is_foreign) { is_foreign_ = is_foreign; }

 private:
  std::size_t find_text_end() const;
  HtmlToken take_text(std::size_t end);
  HtmlToken take_cdata();
  HtmlToken take_comment();
  HtmlToken take(HtmlTokenKind kind, std::size_t end, bool is_complete);
  std::optional<HtmlToken> take_tag();

  std::string_view html_;
  std::size_t position_ = 0;
  HtmlTextKind text_kind_ = HtmlTextKind::kData;
  std::string text_element_;
  bool is_foreign_ = false;
};

/// Returns whether HTML treats the character as white space: space, tab, line feed, form feed and carriage return.
bool is_html_space(char character);

}  // namespace edgewise
