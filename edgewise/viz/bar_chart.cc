// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/bar_chart.h"

#include <fmt/format.h>

#include <algorithm>

#include "edgewise/viz/axis.h"
#include "edgewise/viz/label.h"
#include "edgewise/viz/page.h"
#include "edgewise/viz/palette.h"

namespace edgewise {
namespace {

// As a line chart's, so that both stand side by side.
constexpr double kWidth = 400;
constexpr double kHeight = 240;
constexpr double kLeft = 42;
constexpr double kRight = 8;
constexpr double kTop = 40;
constexpr double kBottom = 34;

double highest_of(const BarChart& chart) {
  double highest = chart.highest;
  if (highest > 0) return highest;
  for (const BarSeries& series : chart.series) {
    for (const double value : series.values) highest = std::max(highest, value);
  }
  return highest > 0 ? highest : 1;
}

double place_y(const Axis& axis, double value) {
  return kHeight - kBottom - axis.place(value) * (kHeight - kTop - kBottom);
}

std::string grid(const Axis& axis) {
  std::string svg;
  for (const double tick : axis.ticks(5)) {
    const double y = place_y(axis, tick);
    svg += fmt::format("<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", kLeft, kWidth - kRight,
                       y, y);
    svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}%</text>\n", kLeft - 4, y + 3.5,
                       short_number(100 * tick));
  }
  return svg;
}

std::string legend(const BarChart& chart) {
  std::string svg;
  double x = kLeft;
  for (const BarSeries& series : chart.series) {
    svg += fmt::format("<rect class=\"f{}\" x=\"{:.1f}\" y=\"23\" width=\"10\" height=\"10\"/>",
                       series.colour % kColours, x);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"32\">{}</text>\n", x + 14, label_attribute(series.name));
    x += label_width(series.name) + 34;
  }
  return svg;
}

std::string bars_svg(const BarChart& chart, const Axis& axis) {
  const double room =
      (kWidth - kLeft - kRight) / static_cast<double>(std::max<std::size_t>(1, chart.categories.size()));
  const double bar = std::min(28.0, 0.8 * room / static_cast<double>(std::max<std::size_t>(1, chart.series.size())));
  // So many names fit.
  const std::size_t stride = 1 + static_cast<std::size_t>(22 / room);
  std::string svg;
  for (std::size_t i = 0; i < chart.categories.size(); ++i) {
    const double middle = kLeft + room * (static_cast<double>(i) + 0.5);
    double x = middle - bar * static_cast<double>(chart.series.size()) / 2;
    for (const BarSeries& series : chart.series) {
      const double value = i < series.values.size() ? series.values[i] : 0;
      const double y = place_y(axis, std::min(value, axis.highest));
      svg += fmt::format(
          "<rect class=\"bar f{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"><title>{}: "
          "{:.1f}%</title></rect>",
          series.colour % kColours, x, y, bar - 1, kHeight - kBottom - y,
          label_attribute(fmt::format("{}, {} {}", series.name, chart.categories[i], chart.of_x)), 100 * value);
      x += bar;
    }
    if (i % stride == 0) {
      svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", middle,
                         kHeight - kBottom + 14, label_attribute(chart.categories[i]));
    }
  }
  return svg;
}

}  // namespace

SvgPicture draw(const BarChart& chart) {
  const Axis axis = {.lowest = 0, .highest = highest_of(chart)};
  SvgPicture picture{.width = kWidth, .height = kHeight, .title = chart.title, .body = {}};
  picture.body = svg_text(kLeft, 14, chart.title, "class=\"title\"") + grid(axis);
  if (chart.series.size() > 1) picture.body += legend(chart);
  picture.body += bars_svg(chart, axis) + svg_text(kWidth - kRight, kHeight - 4, chart.of_x, "text-anchor=\"end\"");
  return picture;
}

}  // namespace edgewise
