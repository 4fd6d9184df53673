// SPDX-License-Identifier: Apache-2.0
#include "tests/support/browser.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "edgewise/base/address_space.h"
#include "tests/support/process.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBrowser = "/usr/bin/chromium";
constexpr const char* kTidy = "/usr/bin/tidy";
constexpr const char* kXmllint = "/usr/bin/xmllint";
constexpr const char* kSvg = "/usr/share/xml/w3c-sgml-lib/schema/dtd/REC-SVG11-20110816/svg11.dtd";

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// Copies the page and appends a script. Returns the path of the copy.
fs::path append_script(const fs::path& page, const std::string& script) {
  std::string text = text_of(page);
  const std::string kReport =
      "<pre id=\"reported\"></pre>\n<script>\nconst report = (text) => "
      "document.getElementById(\"reported\").append(text + \"\\n\");\n";
  const std::size_t end = text.rfind("</body>");
  text.insert(end == std::string::npos ? text.size() : end, kReport + script + "\n</script>\n");
  const fs::path copy = page.parent_path() / ("opened-" + page.filename().string());
  std::ofstream(copy, std::ios::binary) << text;
  return copy;
}

/// Returns the console lines of Chromium, such as `[…:INFO:CONSOLE:12] "text", source: …`.
std::vector<std::string> console_lines(const std::string& errors) {
  std::vector<std::string> lines;
  std::istringstream stream(errors);
  for (std::string line; std::getline(stream, line);) {
    if (line.find("CONSOLE") != std::string::npos) lines.push_back(line);
  }
  return lines;
}

}  // namespace

bool has_browser() { return fs::exists(kBrowser) && !has_address_space_limit(); }

OpenedPage open_in_browser(const fs::path& page, const std::string& script) {
  const fs::path copy = append_script(fs::absolute(page), script);
  const fs::path profile = fs::absolute(page).parent_path() / "browser-profile";
  const ProcessResult result =
      run_process({kBrowser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
                   "--user-data-dir=" + profile.string(), "--enable-logging=stderr", "--window-size=1280,1000",
                   "--virtual-time-budget=5000", "--dump-dom", "file://" + copy.string()});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  return {result.output, console_lines(result.errors)};
}

std::string reported_text(const OpenedPage& page) {
  const std::string kBegin = "<pre id=\"reported\">";
  const std::size_t begin = page.document.find(kBegin);
  if (begin == std::string::npos) return "";
  const std::size_t text = begin + kBegin.size();
  return page.document.substr(text, page.document.find("</pre>", text) - text);
}

bool has_validators() { return fs::exists(kTidy) && fs::exists(kXmllint) && fs::exists(kSvg); }

std::string list_html_errors(const fs::path& page) {
  // Empty elements are valid: scripts fill them.
  const ProcessResult result =
      run_process({kTidy, "-quiet", "-errors", "--drop-empty-elements", "no", "-utf8", page.string()});
  return result.errors;
}

std::string list_svg_errors(const fs::path& drawing) {
  const ProcessResult result = run_process({kXmllint, "--noout", "--nonet", "--dtdvalid", kSvg, drawing.string()});
  constexpr int kOnlyInvalid = 3;  // exit code for a well-formed file that does not match the DTD
  if (result.exit_code != kOnlyInvalid) return result.errors;
  const std::regex allowed_by_svg_2(
      ".* validity error : No declaration for attribute (role|aria-[a-z]+|data-[a-z]+) of element [a-z]+");
  const std::string summary = "Document " + drawing.string() + " does not validate against " + kSvg;
  std::istringstream lines(result.errors);
  std::string errors;
  for (std::string line; std::getline(lines, line);) {
    if (line != summary && !std::regex_match(line, allowed_by_svg_2)) errors += line + "\n";
  }
  return errors;
}

}  // namespace edgewise
