// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "edgewise/base/escape_html.h"
#include "edgewise/viz/colour_scale.h"
#include "edgewise/viz/label.h"
#include "edgewise/viz/palette.h"

namespace edgewise {
namespace {

constexpr double kGap = 16;  // space between arranged pictures

// The CSS has no variables, because many SVG converters do not support them.
constexpr std::string_view kFileStyle =
    "text { fill: #222; font: 11px system-ui, sans-serif; } .title { font-weight: 600; font-size: 13px; } "
    ".grid { stroke: #ddd; } .ink { stroke: #222; }\n"
    "@media (prefers-color-scheme: dark) { text { fill: #ddd; } .grid { stroke: #3a3d44; } .ink { stroke: #ddd; } }";

/// Returns the attributes that an <svg> element in a page and in a file share.
std::string attributes_of(const SvgPicture& picture) {
  return fmt::format(R"(viewBox="0 0 {:.6g} {:.6g}" role="img" aria-label="{}")", picture.width, picture.height,
                     escape_html(printable_token(picture.title, 200)));
}

}  // namespace

std::string svg_for_page(const SvgPicture& picture) {
  return fmt::format("<svg {} style=\"max-width: {:.0f}px\">{}</svg>\n", attributes_of(picture), picture.width,
                     picture.body);
}

std::string svg_at_full_size(const SvgPicture& picture) {
  return fmt::format("<div class=\"wide\"><div style=\"width: {:.0f}px\">{}</div></div>\n", picture.width,
                     svg_for_page(picture));
}

std::string svg_file(const SvgPicture& picture) {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" {} width=\"{:.6g}\" "
      "height=\"{:.6g}\">\n"
      "<title>{}</title>\n"
      "<style type=\"text/css\">{}\n{}</style>\n{}\n</svg>\n",
      attributes_of(picture), picture.width, picture.height, escape_html(printable_token(picture.title, 200)),
      kFileStyle, drawing_style(), picture.body);
}

SvgPicture arrange_pictures(std::string title, std::span<const SvgPicture> pictures, std::size_t columns) {
  std::vector<double> widths(columns);
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    widths[i % columns] = std::max(widths[i % columns], pictures[i].width);
  }
  SvgPicture whole{.width = 0, .height = 0, .title = std::move(title), .body = {}};
  for (std::size_t row = 0; row < pictures.size(); row += columns) {
    double x = 0;
    double height = 0;
    const std::size_t end = std::min(row + columns, pictures.size());
    for (std::size_t i = row; i < end; ++i) {
      whole.body +=
          fmt::format("<g transform=\"translate({:.1f} {:.1f})\">\n{}</g>\n", x, whole.height, pictures[i].body);
      x += widths[i - row] + kGap;
      height = std::max(height, pictures[i].height);
    }
    whole.width = std::max(whole.width, x - kGap);
    whole.height += height + (end < pictures.size() ? kGap : 0);
  }
  return whole;
}

std::string svg_text(double x, double y, std::string_view text, std::string_view attributes) {
  return fmt::format("<text x=\"{:.6g}\" y=\"{:.6g}\"{}{}>{}</text>", x, y, attributes.empty() ? "" : " ", attributes,
                     label_html(text));
}

std::string colour_legend(double x, double y, std::string_view title) {
  constexpr int kSteps = 60;
  constexpr double kBar = 120;
  constexpr double kStep = kBar / kSteps;
  std::string svg = "<g shape-rendering=\"crispEdges\">";
  const std::vector<Colour> colours = make_colour_table(kSteps);
  for (int i = 0; i < kSteps; ++i) {
    svg += fmt::format("<rect x=\"{:.6g}\" y=\"{:.6g}\" width=\"{:.6g}\" height=\"10\" fill=\"{}\"/>", x + i * kStep, y,
                       kStep, hex(colours[static_cast<std::size_t>(i)]));
  }
  svg += "</g>";
  for (const auto& [value, text] : {std::pair{0.0, "0"}, {0.5, "0.5"}, {1.0, "1"}}) {
    svg += svg_text(x + value * kBar, y + 22, text, value == 0 ? "" : "text-anchor=\"middle\"");
  }
  return svg + svg_text(x + kBar + 10, y + 9, title);
}

}  // namespace edgewise
