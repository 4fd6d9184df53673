// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace edgewise {

/// With &, <, > and " as a page must write them.
std::string escaped_html(std::string_view text);

struct HtmlPage {
  std::string title;
  std::string body;
  std::string style = {};   // behind that of all pages
  std::string script = {};  // runs once the body is there, in strict mode, and finds the data as `data`
  std::string data = {};    // JSON; what it says stays text, whatever it is
};

/// A whole page: everything is in it, nothing is fetched. Light or dark as the reader has it, and one column where
/// there is room for one.
std::string html_page(const HtmlPage& page);
std::string html_page(std::string_view title, std::string_view body);

}  // namespace edgewise
