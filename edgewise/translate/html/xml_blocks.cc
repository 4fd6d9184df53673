// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/html/xml_blocks.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "edgewise/translate/html/html_tokens.h"

namespace edgewise {
namespace {

/// An element that has begun, or the whole document.
struct XmlElement {
  std::string name = {};
  bool has_text = false;
  std::unordered_set<std::string> children = {};
};

}  // namespace

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
