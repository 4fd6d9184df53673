// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "edgewise/base/files/embedded_file.h"

namespace edgewise {

struct HtmlPage {
  std::string title;
  std::string body;
  std::string_view style = {};   // CSS, after the style that all pages have
  std::string_view script = {};  // JavaScript in strict mode; runs after the body is loaded and gets the JSON as `data`
  std::string data = {};         // JSON, whose strings may contain any text, also "</script>"
};

/// Returns a complete page that loads no other file. Its colours follow the light or dark theme of the browser, and a
/// narrow window displays one column.
std::string html_page(const HtmlPage& page);

/// Returns the text of a file of viz/pages, which the build embeds into the program. Throws Error for an unknown name.
std::string_view page_file(std::string_view name);

/// Returns the files of viz/pages, in ascending order of their names.
std::span<const EmbeddedFile> page_files();

}  // namespace edgewise
