// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace edgewise {

/// What a browser made of a page.
struct OpenedPage {
  std::string document;               // as it is in the end
  std::vector<std::string> messages;  // of its console, errors among them
};

/// Whether Chromium is installed: `make test-pages` does that. A test that needs it is skipped where it is not.
bool has_browser();

/// Opens a page in headless Chromium, runs `script` in it once it is loaded, as the hand of who reads it, and waits.
OpenedPage open_in_browser(const std::filesystem::path& page, const std::string& script = "");

/// The text that a script put into the page by `report(text)`, which each script here can call.
std::string reported(const OpenedPage& page);

/// What the checkers of `make test-pages` find wrong: tidy with a page, xmllint and the DTD of SVG 1.1 with a
/// drawing, whose `role`, `aria-` and `data-` attributes SVG 2 has added. Empty where all is well. `has_checkers` says
/// whether they are installed.
bool has_checkers();
std::string mistakes_in_html(const std::filesystem::path& page);
std::string mistakes_in_svg(const std::filesystem::path& drawing);

}  // namespace edgewise
