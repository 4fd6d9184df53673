// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/html/html_attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "edgewise/base/ascii.h"
#include "edgewise/base/escape_html.h"
#include "edgewise/text/sentences/protected_spans.h"
#include "edgewise/text/unicode.h"
#include "edgewise/translate/html/html_elements.h"
#include "edgewise/translate/html/html_references.h"

namespace edgewise {
namespace {

constexpr char kMark = '\xFF';

std::string in_one_line(std::string_view text) {
  std::string line;
  for (const std::string_view word : split_words(text)) line += fmt::format("{}{}", line.empty() ? "" : " ", word);
  return line;
}

}  // namespace

std::string mark_text_attributes(const HtmlToken& start_tag, std::vector<std::string>& texts) {
  std::string tag;
  std::size_t end = 0;
  for (const HtmlAttribute& attribute : start_tag.attributes) {
    if (attribute.value.empty() || !is_text_attribute(lower_ascii(attribute.name))) continue;
    const std::string value = decode_html_references(attribute.value, HtmlTextPlace::kAttribute);
    if (!needs_translation(value)) continue;
    const ByteRange bytes = find_value(start_tag, attribute);
    tag += fmt::format("{}{}{}{}", start_tag.source.substr(end, bytes.begin - end), kMark, texts.size(), kMark);
    texts.push_back(in_one_line(value));
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

}  // namespace edgewise
