// SPDX-License-Identifier: Apache-2.0
// Reads cases from standard input and prints the tokens of each as one line of JSON. A case is a line with the kind of
// text at the beginning (data, rcdata, rawtext, script, plaintext or foreign), the name of the element that has the
// text or `-`, and the number of bytes; then these bytes of HTML.
#include <fmt/format.h>

#include <iostream>
#include <map>
#include <string>

#include "edgewise/base/ascii.h"
#include "edgewise/base/files/json.h"
#include "edgewise/translate/html/html_references.h"
#include "edgewise/translate/html/html_tokens.h"

namespace edgewise {
namespace {

std::string tag_json(const HtmlToken& token) {
  std::string attributes;
  for (const HtmlAttribute& attribute : token.attributes) {
    attributes += fmt::format("{}[{}, {}]", attributes.empty() ? "" : ", ", quote_json(lower_ascii(attribute.name)),
                              quote_json(decode_html_references(attribute.value, HtmlTextPlace::kAttribute)));
  }
  return fmt::format("{}, [{}], {}", quote_json(token.name), attributes, token.is_self_closing);
}

std::string text_json(const HtmlToken& token) {
  const bool has_references = token.text_kind == HtmlTextKind::kData || token.text_kind == HtmlTextKind::kRcdata;
  return quote_json(has_references ? decode_html_references(token.text) : std::string(token.text));
}

std::string json_of(const HtmlToken& token) {
  switch (token.kind) {
    case HtmlTokenKind::kText:
      return fmt::format("[\"Character\", {}]", text_json(token));
    case HtmlTokenKind::kStartTag:
      return fmt::format("[\"StartTag\", {}]", tag_json(token));
    case HtmlTokenKind::kEndTag:
      return fmt::format("[\"EndTag\", {}]", tag_json(token));
    case HtmlTokenKind::kComment:
      return "[\"Comment\"]";
    case HtmlTokenKind::kDoctype:
      break;
  }
  return "[\"DOCTYPE\"]";
}

void print_tokens(const std::string& kind, const std::string& element, std::string_view html) {
  static const std::map<std::string, HtmlTextKind> kKinds = {
      {"data", HtmlTextKind::kData},     {"rcdata", HtmlTextKind::kRcdata},       {"rawtext", HtmlTextKind::kRawText},
      {"script", HtmlTextKind::kScript}, {"plaintext", HtmlTextKind::kPlaintext}, {"foreign", HtmlTextKind::kData}};
  HtmlTokenizer tokenizer(html);
  tokenizer.set_text_kind(kKinds.at(kind), element == "-" ? "" : element);
  tokenizer.set_foreign(kind == "foreign");
  std::string tokens;
  while (const auto token = tokenizer.next()) {
    tokens += (tokens.empty() ? "" : ", ") + json_of(*token);
    if (token->kind == HtmlTokenKind::kStartTag) tokenizer.set_text_kind(HtmlTextKind::kData);
  }
  std::cout << "[" << tokens << "]\n";
}

}  // namespace
}  // namespace edgewise

int main() {
  std::string kind;
  std::string element;
  std::size_t size = 0;
  while (std::cin >> kind >> element >> size) {
    std::cin.get();
    std::string html(size, '\0');
    std::cin.read(html.data(), static_cast<std::streamsize>(size));
    edgewise::print_tokens(kind, element, html);
  }
  return 0;
}
