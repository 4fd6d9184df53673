// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "edgewise/translate/html/html_tokens.h"

namespace edgewise {

inline std::string describe_tag(const HtmlToken& token) {
  std::string text = token.name;
  for (const HtmlAttribute& attribute : token.attributes) {
    text += ' ';
    text.append(attribute.name).append("=").append(attribute.value);
  }
  return text + (token.is_self_closing ? " /" : "");
}

inline std::string describe(const HtmlToken& token) {
  const std::string source(token.source);
  switch (token.kind) {
    case HtmlTokenKind::kText:
      return "Text " + source;
    case HtmlTokenKind::kStartTag:
      return "StartTag " + describe_tag(token);
    case HtmlTokenKind::kEndTag:
      return "EndTag " + describe_tag(token);
    case HtmlTokenKind::kComment:
      return (token.is_complete ? "Comment " : "Comment, not ended ") + source;
    case HtmlTokenKind::kDoctype:
      break;
  }
  return "Doctype " + source;
}

inline std::vector<std::string> describe_tokens(std::string_view html) {
  HtmlTokenizer tokenizer(html);
  std::vector<std::string> texts;
  while (const auto token = tokenizer.next()) texts.push_back(describe(*token));
  return texts;
}

}  // namespace edgewise
