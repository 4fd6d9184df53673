// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/html/html_tokens.h"

#include <algorithm>
#include <utility>

#include "edgewise/base/ascii.h"

namespace edgewise {
namespace {

constexpr std::string_view kCommentBegin = "<!--";
constexpr std::string_view kCdataBegin = "<![CDATA[";
constexpr std::string_view kCdataEnd = "]]>";

bool ends_name(char c) { return is_html_space(c) || c == '/' || c == '>'; }

bool begins_with(std::string_view text, std::size_t position, std::string_view lowercase) {
  if (position > text.size() || text.size() - position < lowercase.size()) return false;
  return std::equal(lowercase.begin(), lowercase.end(), text.begin() + static_cast<std::ptrdiff_t>(position),
                    [](char expected, char c) { return expected == lower_ascii(c); });
}

/// Returns whether `prefix`, a name, and a character that ends the name are at the position.
bool has_name(std::string_view text, std::size_t position, std::string_view prefix, std::string_view name) {
  const std::size_t end = position + prefix.size() + name.size();
  return !name.empty() && begins_with(text, position, prefix) && begins_with(text, position + prefix.size(), name) &&
         end < text.size() && ends_name(text[end]);
}

/// Returns whether the `<` at the position begins a tag, a comment or a doctype.
bool begins_markup(std::string_view text, std::size_t position) {
  if (position + 1 >= text.size()) return false;
  const char next = text[position + 1];
  if (next == '/') return position + 2 < text.size();
  return next == '!' || next == '?' || is_letter_of_ascii(next);
}

/// Returns the position of the next `<` that `accepts` accepts; the end of the text if there is none.
template <class Accepts>
std::size_t find_tag(std::string_view text, std::size_t position, const Accepts& accepts) {
  position = text.find('<', position);
  while (position != std::string_view::npos && !accepts(position)) position = text.find('<', position + 1);
  return std::min(position, text.size());
}

/// Finds the end tag of a script `name`, which does not end within `<!-- <script> … </script>`, as far as `-->`.
std::size_t find_script_end(std::string_view text, std::size_t position, std::string_view name) {
  constexpr std::string_view kScript = "script";
  enum class Escape { kNone, kSingle, kDouble } escape = Escape::kNone;
  std::size_t dashes = 0;  // before the position
  while (position < text.size()) {
    const char c = text[position];
    if (escape == Escape::kNone && begins_with(text, position, kCommentBegin)) {
      escape = Escape::kSingle;
      position += kCommentBegin.size();
      dashes = 2;
      continue;
    }
    if (escape != Escape::kDouble && has_name(text, position, "</", name)) return position;
    if (escape == Escape::kDouble && has_name(text, position, "</", kScript)) {
      escape = Escape::kSingle;
    } else if (escape == Escape::kSingle && has_name(text, position, "<", kScript)) {
      escape = Escape::kDouble;
    } else if (c == '>' && dashes >= 2) {
      escape = Escape::kNone;
    }
    dashes = c == '-' ? dashes + 1 : 0;
    ++position;
  }
  return text.size();
}

/// Returns the end of a comment whose `<!--` ends at `position`; npos if the text ends within it.
std::size_t find_comment_end(std::string_view text, std::size_t position) {
  for (const std::string_view abrupt : {">", "->"}) {
    if (begins_with(text, position, abrupt)) return position + abrupt.size();
  }
  for (position = text.find("--", position); position != std::string_view::npos; position = text.find("--", position)) {
    for (const std::string_view end : {"-->", "--!>"}) {
      if (begins_with(text, position, end)) return position + end.size();
    }
    ++position;
  }
  return std::string_view::npos;
}

/// Returns the position after the next `end`; npos if there is none.
std::size_t find_after(std::string_view text, std::size_t position, std::string_view end) {
  const std::size_t found = text.find(end, position);
  return found == std::string_view::npos ? found : found + end.size();
}

/// Reads the attributes of a tag.
class TagReader {
 public:
  TagReader(std::string_view html, std::size_t position) : html_(html), position_(position) {}

  /// Returns false if the document ends within the tag.
  bool read(HtmlToken& token) {
    token.written_name = take_until(ends_name);
    token.name = lower_ascii(token.written_name);
    for (;;) {
      take_until([](char c) { return !is_html_space(c); });
      if (is_at_end()) return false;
      if (html_[position_] == '>') {
        ++position_;
        return true;
      }
      if (html_[position_] == '/') {
        ++position_;
        token.is_self_closing = !is_at_end() && html_[position_] == '>';
        continue;
      }
      if (!read_attribute(token.attributes.emplace_back())) return false;
    }
  }

  std::size_t position() const { return position_; }

 private:
  bool is_at_end() const { return position_ >= html_.size(); }

  template <class IsEnd>
  std::string_view take_until(IsEnd is_end) {
    const std::size_t begin = position_;
    while (!is_at_end() && !is_end(html_[position_])) ++position_;
    return html_.substr(begin, position_ - begin);
  }

  bool read_attribute(HtmlAttribute& attribute) {
    const std::size_t begin = position_++;  // the first character may be `=`
    take_until([](char c) { return ends_name(c) || c == '='; });
    attribute.name = html_.substr(begin, position_ - begin);
    take_until([](char c) { return !is_html_space(c); });
    if (is_at_end()) return false;
    if (html_[position_] != '=') return true;
    ++position_;
    take_until([](char c) { return !is_html_space(c); });
    if (is_at_end()) return false;
    const char quote = html_[position_];
    if (quote != '"' && quote != '\'') {
      attribute.value = take_until([](char c) { return is_html_space(c) || c == '>'; });
      return true;
    }
    ++position_;
    attribute.value = take_until([quote](char c) { return c == quote; });
    if (is_at_end()) return false;
    ++position_;
    return true;
  }

  std::string_view html_;
  std::size_t position_;
};

HtmlTextKind text_kind_of(std::string_view element) {
  if (element == "title" || element == "textarea") return HtmlTextKind::kRcdata;
  if (element == "script") return HtmlTextKind::kScript;
  if (element == "plaintext") return HtmlTextKind::kPlaintext;
  const bool is_raw =
      element == "style" || element == "xmp" || element == "iframe" || element == "noembed" || element == "noframes";
  return is_raw ? HtmlTextKind::kRawText : HtmlTextKind::kData;
}

}  // namespace

ByteRange find_value(const HtmlToken& tag, const HtmlAttribute& attribute) {
  const auto begin = static_cast<std::size_t>(attribute.value.data() - tag.source.data());
  const std::size_t end = begin + attribute.value.size();
  const bool is_quoted = tag.source[begin - 1] == '"' || tag.source[begin - 1] == '\'';
  return is_quoted ? ByteRange{begin - 1, end + 1} : ByteRange{begin, end};
}

bool is_html_space(char character) {
  return character == ' ' || character == '\t' || character == '\n' || character == '\f' || character == '\r';
}

void HtmlTokenizer::set_text_kind(HtmlTextKind kind, std::string_view element) {
  text_kind_ = kind;
  text_element_ = element;
}

std::optional<HtmlToken> HtmlTokenizer::next() {
  if (position_ == html_.size()) return std::nullopt;
  const std::size_t end = find_text_end();
  if (end > position_) return take_text(end);
  set_text_kind(HtmlTextKind::kData);
  if (is_foreign_ && html_.substr(position_).starts_with(kCdataBegin)) return take_cdata();
  const char next = html_[position_ + 1];
  if (next == '!' || next == '?') return take_comment();
  if (next == '/' && html_[position_ + 2] != '>' && !is_letter_of_ascii(html_[position_ + 2])) return take_comment();
  return take_tag();
}

std::size_t HtmlTokenizer::find_text_end() const {
  switch (text_kind_) {
    case HtmlTextKind::kData:
      return find_tag(html_, position_, [this](std::size_t at) { return begins_markup(html_, at); });
    case HtmlTextKind::kRcdata:
    case HtmlTextKind::kRawText:
      return find_tag(html_, position_, [this](std::size_t at) { return has_name(html_, at, "</", text_element_); });
    case HtmlTextKind::kScript:
      return find_script_end(html_, position_, text_element_);
    case HtmlTextKind::kPlaintext:
    case HtmlTextKind::kCdata:
      break;
  }
  return html_.size();
}

HtmlToken HtmlTokenizer::take_text(std::size_t end) {
  HtmlToken token = take(HtmlTokenKind::kText, end, true);
  token.text = token.source;
  token.text_kind = text_kind_;
  return token;
}

HtmlToken HtmlTokenizer::take_cdata() {
  const std::size_t begin = position_ + kCdataBegin.size();
  const std::size_t end = html_.find(kCdataEnd, begin);
  const bool is_complete = end != std::string_view::npos;
  HtmlToken token = take(HtmlTokenKind::kText, is_complete ? end + kCdataEnd.size() : html_.size(), is_complete);
  token.text = html_.substr(begin, std::min(end, html_.size()) - begin);
  token.text_kind = HtmlTextKind::kCdata;
  return token;
}

HtmlToken HtmlTokenizer::take_comment() {
  const bool is_doctype = begins_with(html_, position_, "<!doctype");
  const bool is_comment = begins_with(html_, position_, kCommentBegin);
  const std::size_t end =
      is_comment ? find_comment_end(html_, position_ + kCommentBegin.size()) : find_after(html_, position_ + 2, ">");
  const bool is_complete = end != std::string_view::npos;
  return take(is_doctype ? HtmlTokenKind::kDoctype : HtmlTokenKind::kComment, is_complete ? end : html_.size(),
              is_complete);
}

HtmlToken HtmlTokenizer::take(HtmlTokenKind kind, std::size_t end, bool is_complete) {
  HtmlToken token;
  token.kind = kind;
  token.source = html_.substr(position_, end - position_);
  token.is_complete = is_complete;
  position_ += token.source.size();
  return token;
}

std::optional<HtmlToken> HtmlTokenizer::take_tag() {
  const bool is_end_tag = html_[position_ + 1] == '/';
  HtmlToken token;
  TagReader reader(html_, position_ + (is_end_tag ? 2 : 1));
  if (!reader.read(token)) {
    position_ = html_.size();
    return std::nullopt;
  }
  token.kind = is_end_tag ? HtmlTokenKind::kEndTag : HtmlTokenKind::kStartTag;
  token.source = html_.substr(position_, reader.position() - position_);
  position_ = reader.position();
  if (!is_end_tag && !is_foreign_) set_text_kind(text_kind_of(token.name), token.name);
  return token;
}

}  // namespace edgewise
