// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/escape_html.h"

namespace edgewise {

std::string escape_html(std::string_view text, HtmlTextPlace place) {
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
