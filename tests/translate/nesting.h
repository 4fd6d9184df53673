// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "edgewise/translate/html/html_elements.h"
#include "edgewise/translate/html/html_tokens.h"

namespace edgewise {

/// Returns the first end tag that does not end the innermost open element, or the element that is open at the end, or
/// the markup within which the text ends; empty if the tags are nested. Plaintext has no end.
inline std::string find_bad_nesting(std::string_view html) {
  HtmlTokenizer tokenizer(html);
  std::vector<std::string> open;
  int foreign = 0;
  std::size_t size = 0;
  while (const auto token = tokenizer.next()) {
    size += token->source.size();
    if (!token->is_complete) return std::string(token->source);
    if (token->kind == HtmlTokenKind::kStartTag) {
      if (token->name == "plaintext" && foreign == 0) return {};
      const bool is_foreign = foreign > 0 || has_foreign_content(token->name);
      const bool ends_itself = token->is_self_closing && (is_foreign || !is_known_element(token->name));
      if (ends_itself || (!is_foreign && is_void_element(token->name))) continue;
      open.push_back(token->name);
      foreign += has_foreign_content(token->name) ? 1 : 0;
    } else if (token->kind == HtmlTokenKind::kEndTag) {
      if (open.empty() || open.back() != token->name) return std::string(token->source);
      open.pop_back();
      foreign -= has_foreign_content(token->name) ? 1 : 0;
    }
    tokenizer.set_foreign(foreign > 0);
  }
  if (size < html.size()) return std::string(html.substr(size));
  return open.empty() ? std::string() : "<" + open.back() + ">";
}

}  // namespace edgewise
