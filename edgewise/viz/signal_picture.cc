// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/signal_picture.h"

#include <fmt/format.h>

#include <algorithm>

#include "edgewise/base/error.h"
#include "edgewise/viz/axis.h"
#include "edgewise/viz/heat_map.h"
#include "edgewise/viz/line_chart.h"
#include "edgewise/viz/palette.h"

namespace edgewise {
namespace {

constexpr double kLeft = 42;
constexpr double kTop = 26;
constexpr double kMaxSide = 640;
constexpr double kMaxCellSize = 12;

std::string draw_legend(double x, double y) {
  constexpr int kSteps = 60;
  constexpr double kWidth = 120;
  std::string svg = "<g shape-rendering=\"crispEdges\">";
  const std::vector<Colour> colours = make_colour_table(kSteps);
  for (int i = 0; i < kSteps; ++i) {
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"10\" fill=\"{}\"/>",
                       x + i * kWidth / kSteps, y, kWidth / kSteps, hex(colours[static_cast<std::size_t>(i)]));
  }
  svg += "</g>" + svg_text(x, y + 22, "-1") + svg_text(x + kWidth / 2, y + 22, "0", "text-anchor=\"middle\"");
  return svg + svg_text(x + kWidth, y + 22, "1", "text-anchor=\"end\"");
}

}  // namespace

SvgPicture draw_map(const Signal& signal) {
  const double longest = static_cast<double>(std::max(signal.positions, signal.size));
  const double cell = std::min(kMaxCellSize, kMaxSide / longest);
  const double width = cell * static_cast<double>(signal.positions);
  const double height = cell * static_cast<double>(signal.size);
  HeatMap cells{.title = {}, .row_title = {}, .column_title = {}, .rows = {}, .columns = {}, .values = {}};
  cells.rows.resize(static_cast<std::size_t>(signal.size));
  cells.columns.resize(static_cast<std::size_t>(signal.positions));
  for (std::int64_t dimension = 0; dimension < signal.size; ++dimension) {
    for (std::int64_t position = 0; position < signal.positions; ++position) {
      cells.values.push_back((signal.value(position, dimension) + 1) / 2);
    }
  }

  SvgPicture picture{
      .width = kLeft + std::max(width, 340.0) + 8, .height = kTop + height + 64, .title = signal.title, .body = {}};
  picture.body = svg_text(kLeft, 16, signal.title, "class=\"title\"") + draw_cells(cells, kLeft, kTop, cell);
  const Axis y_axis(0, static_cast<double>(signal.size));
  for (const double tick : y_axis.ticks(4)) {
    if (tick >= y_axis.highest()) continue;
    picture.body += svg_text(kLeft - 5, kTop + (tick + 0.5) * cell + 4, format_number(tick), "text-anchor=\"end\"");
  }
  const Axis x_axis(0, static_cast<double>(signal.positions));
  for (const double tick : x_axis.ticks(6)) {
    if (tick >= x_axis.highest()) continue;
    picture.body +=
        svg_text(kLeft + (tick + 0.5) * cell, kTop + height + 14, format_number(tick), "text-anchor=\"middle\"");
  }
  picture.body += svg_text(kLeft + std::max(width, 340.0), kTop + height + 32, "position", "text-anchor=\"end\"");
  picture.body +=
      svg_text(12, kTop + height / 2, "dimension",
               fmt::format("text-anchor=\"middle\" transform=\"rotate(-90 12 {:.1f})\"", kTop + height / 2));
  picture.body += draw_legend(kLeft, kTop + height + 26);
  return picture;
}

SvgPicture draw_curves(const Signal& signal, const std::vector<std::int64_t>& dimensions) {
  LineChart chart{.title = signal.title, .x_title = "position", .curves = {}, .has_legend = true};
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    const std::int64_t dimension = dimensions[i];
    check(dimension >= 0 && dimension < signal.size, "draw_curves: dimension is {}, needs 0 to {}", dimension,
          signal.size - 1);
    Curve curve{.name = fmt::format("dim {}", dimension), .points = {}, .colour = static_cast<int>(i)};
    for (std::int64_t position = 0; position < signal.positions; ++position) {
      curve.points.emplace_back(position, signal.value(position, dimension));
    }
    chart.curves.push_back(std::move(curve));
  }
  return draw(chart, static_cast<double>(signal.positions));
}

}  // namespace edgewise
