// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace edgewise {

/// The place of a text in an HTML document: between tags, or in the value of an attribute in double quotes.
enum class HtmlTextPlace { kContent, kAttribute };

/// Writes text so that HTML and XML show it: `&`, `<`, `>` and, in an attribute, `"` become references. The form for an
/// attribute is also right between tags.
std::string escape_html(std::string_view text, HtmlTextPlace place = HtmlTextPlace::kAttribute);

}  // namespace edgewise
