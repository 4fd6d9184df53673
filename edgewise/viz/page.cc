// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "edgewise/base/error.h"
#include "edgewise/base/escape_html.h"
#include "edgewise/viz/palette.h"
#include "edgewise/viz/svg.h"

namespace edgewise {
namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ground: #fff; --ink: #222; --faint: #ddd; }
@media (prefers-color-scheme: dark) { :root { --ground: #16181c; --ink: #ddd; --faint: #3a3d44; } }
body { background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; margin: 0 auto;
  max-width: 1100px; padding: 1rem; }
h1 { font-size: 1.4rem; }
h2 { font-size: 1.15rem; }
.charts { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--faint); padding: .25rem .6rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--ink); font: 11px system-ui, sans-serif; }
svg .title { font-weight: 600; font-size: 13px; }
.grid { stroke: var(--faint); }
.key { display: inline-block; width: .8em; height: .8em; margin-right: .4em; border-radius: 2px; }
)";

/// Returns the palette as CSS variables, for elements outside of drawings.
std::string palette_style() {
  std::string light;
  std::string dark;
  std::string rules;
  for (std::size_t i = 0; i < kPalette.size(); ++i) {
    light += fmt::format("--c{}: {}; ", i, kPalette[i].on_light);
    dark += fmt::format("--c{}: {}; ", i, kPalette[i].on_dark);
    rules += fmt::format(".key.c{0} {{ background: var(--c{0}); }}\n", i);
  }
  return fmt::format(":root {{ {}}}\n@media (prefers-color-scheme: dark) {{ :root {{ {}}} }}\n{}", light, dark, rules);
}

/// Escapes each `<`, so that no text in the JSON can end the script element or begin a comment.
std::string escape_json(std::string_view json) {
  std::string safe;
  for (const char c : json) safe += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return safe;
}

std::string scripts_of(const HtmlPage& page) {
  if (page.script.empty()) return "";
  return fmt::format(
      "<script type=\"application/json\" id=\"data\">{}</script>\n<script>\n\"use strict\";\n"
      "{{\nconst data = JSON.parse(document.getElementById(\"data\").textContent);\n{}}}\n</script>\n",
      page.data.empty() ? "null" : escape_json(page.data), page.script);
}

}  // namespace

std::string html_page(const HtmlPage& page) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n"
      "<style>{1}{2}{6}{3}</style>\n</head>\n<body>\n<h1>{0}</h1>\n{4}{5}</body>\n</html>\n",
      escape_html(printable_token(page.title, 200)), kStyle, palette_style(), page.style, page.body, scripts_of(page),
      drawing_style());
}

std::string_view page_file(std::string_view name) {
  const auto files = page_files();
  const auto found = std::ranges::find(files, name, &EmbeddedFile::name);
  check(found != files.end(), "page_file: name is {}, needs that of a file in viz/pages", name);
  return found->text;
}

}  // namespace edgewise
