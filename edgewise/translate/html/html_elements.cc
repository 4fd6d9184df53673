// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/html/html_elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "edgewise/base/ascii.h"
#include "edgewise/base/escape_html.h"
#include "edgewise/text/sentences/protected_spans.h"
#include "edgewise/text/unicode.h"
#include "edgewise/translate/html/html_references.h"

namespace edgewise {
namespace {

using Names = std::unordered_set<std::string_view>;

/// Returns whether one of the words between white space is `word`, whatever the case of its letters.
bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    while (end < text.size() && !is_html_space(text[end])) ++end;
    if (equal_without_case(text.substr(begin, end - begin), word)) return true;
    begin = end + 1;
  }
  return false;
}

/// Returns whether an attribute is a text that is shown or read out.
bool is_text_attribute(std::string_view name) {
  return name == "title" || name == "alt" || name == "placeholder" || name == "aria-label";
}

constexpr char kMark = '\xFF';

/// An element that has begun, or the whole document.
struct XmlElement {
  std::string name = {};
  bool has_text = false;
  std::unordered_set<std::string> children = {};
};

}  // namespace

bool is_block_element(std::string_view name) {
  static const Names kNames = {
      "address",   "article", "aside",  "blockquote", "body",     "caption", "center",   "col",      "colgroup",
      "dd",        "details", "dialog", "dir",        "div",      "dl",      "dt",       "fieldset", "figcaption",
      "figure",    "footer",  "form",   "frame",      "frameset", "h1",      "h2",       "h3",       "h4",
      "h5",        "h6",      "head",   "header",     "hgroup",   "hr",      "html",     "legend",   "li",
      "listing",   "main",    "menu",   "nav",        "noframes", "ol",      "optgroup", "option",   "p",
      "plaintext", "pre",     "search", "section",    "summary",  "table",   "tbody",    "td",       "template",
      "tfoot",     "th",      "thead",  "title",      "tr",       "ul",      "xmp"};
  return kNames.contains(name);
}

bool is_void_element(std::string_view name) {
  static const Names kNames = {"area", "base",  "basefont", "bgsound", "br",   "col",   "embed",  "frame", "hr",
                               "img",  "input", "keygen",   "link",    "meta", "param", "source", "track", "wbr"};
  return kNames.contains(name);
}

bool is_hidden_element(std::string_view name) {
  static const Names kNames = {"area",     "base",  "basefont", "bgsound", "link",  "meta", "noembed",
                               "noframes", "param", "script",   "source",  "style", "track"};
  return kNames.contains(name);
}

bool has_untranslated_content(std::string_view name) {
  static const Names kNames = {"code", "iframe", "kbd",    "listing", "math", "noembed",  "noframes", "plaintext",
                               "pre",  "samp",   "script", "style",   "svg",  "textarea", "var",      "xmp"};
  return kNames.contains(name);
}

bool is_known_element(std::string_view name) {
  static const Names kInline = {
      "a",      "abbr", "acronym", "applet",   "audio", "b",        "bdi",    "bdo",    "big",     "blink",    "button",
      "canvas", "cite", "data",    "datalist", "del",   "dfn",      "em",     "font",   "i",       "ins",      "label",
      "map",    "mark", "marquee", "meter",    "nobr",  "noscript", "object", "output", "picture", "progress", "q",
      "rb",     "rp",   "rt",      "rtc",      "ruby",  "s",        "select", "slot",   "small",   "span",     "strike",
      "strong", "sub",  "sup",     "time",     "tt",    "u",        "video"};
  return kInline.contains(name) || is_block_element(name) || is_void_element(name) || has_untranslated_content(name);
}

std::string without_id(std::string_view start_tag) {
  HtmlTokenizer tokenizer(start_tag);
  const auto token = tokenizer.next();
  std::string tag(start_tag);
  if (!token || token->kind != HtmlTokenKind::kStartTag) return tag;
  for (auto attribute = token->attributes.rbegin(); attribute != token->attributes.rend(); ++attribute) {
    if (lower_ascii(attribute->name) != "id") continue;
    auto begin = static_cast<std::size_t>(attribute->name.data() - start_tag.data());
    const std::size_t end =
        attribute->value.empty() ? begin + attribute->name.size() : find_value(*token, *attribute).end;
    while (begin > 0 && is_html_space(start_tag[begin - 1])) --begin;
    tag.erase(begin, end - begin);
  }
  return tag;
}

bool has_id(std::string_view start_tag) { return without_id(start_tag).size() < start_tag.size(); }

bool has_foreign_content(std::string_view name) { return name == "svg" || name == "math"; }

bool bounds_end_tags(std::string_view name) {
  static const Names kNames = {"caption", "marquee", "object", "table", "td", "template", "th"};
  return kNames.contains(name);
}

bool is_table_part(std::string_view name) {
  static const Names kNames = {"caption", "colgroup", "table", "tbody", "td", "tfoot", "th", "thead", "tr"};
  return kNames.contains(name);
}

bool has_optional_end_tag(std::string_view name) {
  static const Names kNames = {"colgroup", "dd",    "dt", "head",  "li", "optgroup", "option",
                               "p",        "tbody", "td", "tfoot", "th", "thead",    "tr"};
  return kNames.contains(name);
}

bool closes_element(std::string_view next, std::string_view name) {
  static const std::unordered_map<std::string_view, Names> kClosedBy = {
      {"head", {"body", "frameset", "head"}},
      {"p", {"address", "article", "aside", "blockquote", "center",     "dd",     "details",   "dialog", "dir",
             "div",     "dl",      "dt",    "fieldset",   "figcaption", "figure", "footer",    "form",   "h1",
             "h2",      "h3",      "h4",    "h5",         "h6",         "header", "hgroup",    "hr",     "li",
             "listing", "main",    "menu",  "nav",        "ol",         "p",      "plaintext", "pre",    "search",
             "section", "summary", "table", "td",         "th",         "tr",     "ul",        "xmp"}},
      {"li", {"li"}},
      {"dt", {"dt", "dd"}},
      {"dd", {"dt", "dd"}},
      {"option", {"option", "optgroup", "hr"}},
      {"optgroup", {"optgroup", "hr"}},
      {"colgroup", {"colgroup", "tbody", "tfoot", "thead", "tr"}},
      {"thead", {"tbody", "tfoot", "thead"}},
      {"tbody", {"tbody", "tfoot", "thead"}},
      {"tfoot", {"tbody", "tfoot", "thead"}},
      {"tr", {"tr", "tbody", "tfoot", "thead"}},
      {"td", {"td", "th", "tr", "tbody", "tfoot", "thead"}},
      {"th", {"td", "th", "tr", "tbody", "tfoot", "thead"}}};
  const auto found = kClosedBy.find(name);
  return found != kClosedBy.end() && found->second.contains(next);
}

bool forbids_translation(const HtmlToken& start_tag) {
  for (const HtmlAttribute& attribute : start_tag.attributes) {
    const std::string name = lower_ascii(attribute.name);
    if (name != "translate" && name != "class") continue;
    const std::string value = decode_html_references(attribute.value, HtmlTextPlace::kAttribute);
    if (name == "class" && has_word(value, "notranslate")) return true;
    if (name == "translate" && equal_without_case(value, "no")) return true;
  }
  return false;
}

std::string mark_text_attributes(const HtmlToken& start_tag, std::vector<std::string>& texts) {
  std::string tag;
  std::size_t end = 0;
  for (const HtmlAttribute& attribute : start_tag.attributes) {
    if (attribute.value.empty() || !is_text_attribute(lower_ascii(attribute.name))) continue;
    const std::string value = decode_html_references(attribute.value, HtmlTextPlace::kAttribute);
    if (!needs_translation(value)) continue;
    const ByteRange bytes = find_value(start_tag, attribute);
    tag += fmt::format("{}{}{}{}", start_tag.source.substr(end, bytes.begin - end), kMark, texts.size(), kMark);
    texts.push_back(fmt::format("{}", fmt::join(split_words(value), " ")));
    end = bytes.end;
  }
  tag += start_tag.source.substr(end);
  return tag;
}

std::string replace_marks(std::string_view html, std::span<const std::string> values) {
  std::string replaced;
  for (std::size_t begin = 0; begin < html.size();) {
    const std::size_t mark = std::min(html.find(kMark, begin), html.size());
    replaced += html.substr(begin, mark - begin);
    if (mark == html.size()) break;
    std::size_t number = 0;
    const char* const end = std::from_chars(html.data() + mark + 1, html.data() + html.size(), number).ptr;
    replaced += fmt::format("\"{}\"", escape_html(values[number], HtmlTextPlace::kAttribute));
    begin = static_cast<std::size_t>(end - html.data()) + 1;
  }
  return replaced;
}

std::unordered_set<std::string> find_xml_blocks(std::string_view xml) {
  std::unordered_set<std::string> all;
  std::unordered_set<std::string> in_text;
  std::vector<XmlElement> open(1);
  std::unordered_map<std::string, std::size_t> num_open;
  const auto close = [&] {
    if (open.back().has_text) in_text.merge(open.back().children);
    --num_open[open.back().name];
    open.pop_back();
  };
  HtmlTokenizer tokenizer(xml);
  tokenizer.set_foreign(true);
  while (const auto token = tokenizer.next()) {
    if (token->kind == HtmlTokenKind::kText) {
      open.back().has_text = open.back().has_text || !std::ranges::all_of(token->text, is_html_space);
    } else if (token->kind == HtmlTokenKind::kStartTag) {
      all.insert(token->name);
      open.back().children.insert(token->name);
      if (token->is_self_closing) continue;
      ++num_open[token->name];
      open.push_back({token->name});
    } else if (token->kind == HtmlTokenKind::kEndTag && num_open[token->name] > 0) {
      while (open.back().name != token->name) close();
      close();
    }
  }
  while (open.size() > 1) close();
  if (open.front().has_text) in_text.merge(open.front().children);
  for (const std::string& name : in_text) all.erase(name);
  return all;
}

}  // namespace edgewise
