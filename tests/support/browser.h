// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace edgewise {

/// The result of opening a page in a browser.
struct OpenedPage {
  std::string document;               // final DOM as HTML
  std::vector<std::string> messages;  // console messages, including errors
};

/// Returns whether Chromium is installed, as by `make test-pages`, and can run: it reserves more address space than any
/// limit of this process (`ulimit -v`) allows. Tests that need Chromium are skipped otherwise, for the reason
/// kNoBrowser.
bool has_browser();
inline constexpr const char* kNoBrowser =
    "Chromium is not installed (make test-pages installs it), or the address space is limited";

/// Opens a page in headless Chromium, runs `script` after loading, for instance to click, and waits for the end.
OpenedPage open_in_browser(const std::filesystem::path& page, const std::string& script = "");

/// Returns the text that the script passed to `report(text)`, a function of the opened page.
std::string reported_text(const OpenedPage& page);

/// Return the errors that the validators of `make test-pages` find, or an empty string: tidy for a page; xmllint with
/// the DTD of SVG 1.1 for a drawing, except for the `role`, `aria-` and `data-` attributes that SVG 2 has added.
/// `has_validators` returns whether they are installed.
bool has_validators();
std::string list_html_errors(const std::filesystem::path& page);
std::string list_svg_errors(const std::filesystem::path& drawing);

}  // namespace edgewise
