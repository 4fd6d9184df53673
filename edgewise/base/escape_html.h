// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace edgewise {

/// The place of a text in an HTML document: between tags, or in the value of an attribute in double quotes.
enum class HtmlTextPlace { kContent, kAttribute };

/// Writes text so that HTML and XML show it: `&`, `<`, `>` and, in an attribute, `"` become references. The form for an
/// attribute is also right between tags.
inline std::string escape_html(std::string_view text, HtmlTextPlace place = HtmlTextPlace::kAttribute) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"' && place == HtmlTextPlace::kAttribute) {
      escaped += "&quot;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace edgewise
