// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "edgewise/base/error.h"
#include "edgewise/viz/palette.h"

namespace edgewise {
namespace {

constexpr double kCellSize = 18;
constexpr double kFontSize = 11;
constexpr double kGap = 6;
constexpr double kTitleHeight = 22;
constexpr int kLevels = 100;  // number of steps of the colour scale; single steps are not visible

double max_label_width(const std::vector<std::string>& labels) {
  double width = 0;
  for (const std::string& label : labels) width = std::max(width, text_width(printable_token(label)));
  return width * kFontSize;
}

std::string draw_row_labels(const HeatMap& map, double x, double y) {
  std::string svg;
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    svg += svg_text(x, y + (static_cast<double>(row) + 0.5) * kCellSize + 4, printable_token(map.rows[row]),
                    "text-anchor=\"end\"");
  }
  return svg;
}

std::string draw_column_labels(const HeatMap& map, double x, double y) {
  std::string svg;
  for (std::size_t column = 0; column < map.columns.size(); ++column) {
    const double middle = x + (static_cast<double>(column) + 0.5) * kCellSize + 4;
    svg += svg_text(middle, y, printable_token(map.columns[column]),
                    fmt::format("transform=\"rotate(-90 {:.6g} {:.6g})\"", middle, y));
  }
  return svg;
}

}  // namespace

/// There is one path per colour: a file with one element per cell would be ten times as large.
std::string draw_cells(const HeatMap& map, double x, double y, double size) {
  std::array<std::string, kLevels + 1> paths;
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    for (std::size_t column = 0; column < map.columns.size(); ++column) {
      const float value = map.value(row, column);
      if (std::isnan(value)) continue;
      const auto level = static_cast<std::size_t>(std::lround(kLevels * std::clamp(value, 0.0f, 1.0f)));
      paths[level] += fmt::format("M{} {}h1v1h-1z", column, row);
    }
  }
  std::string svg = fmt::format(
      "<g transform=\"translate({:.6g} {:.6g}) scale({:.6g})\" shape-rendering=\"crispEdges\">", x, y, size);
  for (std::size_t level = 0; level < paths.size(); ++level) {
    if (paths[level].empty()) continue;
    svg +=
        fmt::format("<path fill=\"{}\" d=\"{}\"/>", hex(colour_of(static_cast<double>(level) / kLevels)), paths[level]);
  }
  return svg + "</g>";
}

SvgPicture draw(const HeatMap& map) {
  check(map.values.size() == map.rows.size() * map.columns.size(),
        "draw: the heat map has {} values, {} rows of {} columns need {}", map.values.size(), map.rows.size(),
        map.columns.size(), map.rows.size() * map.columns.size());
  const double left = max_label_width(map.rows) + 2 * kGap + kFontSize + kGap;
  const double top = kTitleHeight + max_label_width(map.columns) + 2 * kGap + kFontSize + kGap;
  const double right = left + kCellSize * static_cast<double>(map.columns.size());
  const double bottom = top + kCellSize * static_cast<double>(map.rows.size());

  SvgPicture picture;
  picture.title = map.title;
  picture.width = std::max({right, left + kLegendWidth + text_width("weight") * kFontSize,
                            text_width(map.title) * kFontSize * 1.3}) +
                  kGap;
  picture.height = bottom + 2 * kGap + kLegendHeight;
  picture.body = svg_text(kGap, 14, map.title, "class=\"title\"");
  picture.body += svg_text((left + right) / 2, kTitleHeight + kFontSize, map.column_title, "text-anchor=\"middle\"");
  picture.body += svg_text(
      kFontSize, (top + bottom) / 2, map.row_title,
      fmt::format("text-anchor=\"middle\" transform=\"rotate(-90 {:.6g} {:.6g})\"", kFontSize, (top + bottom) / 2));
  picture.body += draw_column_labels(map, left, top - kGap);
  picture.body += draw_row_labels(map, left - kGap, top);
  picture.body += draw_cells(map, left, top, kCellSize);
  picture.body += colour_legend(left, bottom + 2 * kGap, "weight");
  return picture;
}

}  // namespace edgewise
