// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/bar_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "edgewise/viz/axis.h"
#include "edgewise/viz/palette.h"

namespace edgewise {
namespace {

// The chart is as large as a line chart, so that both fit into one row of a page.
constexpr double kWidth = 400;
constexpr double kHeight = 240;
constexpr double kLeft = 42;
constexpr double kRight = 8;
constexpr double kTop = 40;
constexpr double kBottom = 34;

/// Returns an axis from 0 to the given end or, without one, to the highest value.
Axis make_axis(const BarChart& chart) {
  double highest = chart.highest;
  if (highest > 0) return {0, highest};
  for (const BarSeries& series : chart.series) {
    for (const double value : series.values) {
      if (can_draw(value, AxisScale::kLinear)) highest = std::max(highest, value);
    }
  }
  return {0, highest};
}

/// Formats a share in percent, or "–" if it is infinite or not a number.
std::string format_share(double share) {
  constexpr double kLongest = 1e6;  // percent that are written with all digits
  const double percent = 100 * share;
  if (!std::isfinite(percent)) return "–";
  return std::abs(percent) < kLongest ? fmt::format("{:.1f}%", percent) : format_number(percent) + "%";
}

double y_of(const Axis& axis, double value) {
  return kHeight - kBottom - axis.normalise(value) * (kHeight - kTop - kBottom);
}

std::string draw_axis(const Axis& axis) {
  std::string svg;
  for (const double tick : axis.ticks(5)) {
    const double y = y_of(axis, tick);
    svg += fmt::format(R"(<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>)", kLeft, kWidth - kRight, y, y);
    svg += svg_text(kLeft - 4, y + 3.5, format_number(100 * tick) + "%", "text-anchor=\"end\"");
  }
  return svg;
}

std::string draw_legend(const BarChart& chart) {
  std::string svg;
  double x = kLeft;
  for (const BarSeries& series : chart.series) {
    svg += fmt::format(R"(<rect class="f{}" x="{:.1f}" y="23" width="10" height="10"/>)", series.colour % kColours, x);
    svg += svg_text(x + 14, 32, series.name);
    x += label_width(series.name) + 34;
  }
  return svg;
}

std::string draw_bars(const BarChart& chart, const Axis& axis) {
  const double spacing =
      (kWidth - kLeft - kRight) / static_cast<double>(std::max<std::size_t>(1, chart.categories.size()));
  const double bar = std::min(28.0, 0.8 * spacing / static_cast<double>(std::max<std::size_t>(1, chart.series.size())));
  // Only every `stride`-th category name is drawn, so that names do not overlap.
  double widest = 16;
  for (const std::string& category : chart.categories) widest = std::max(widest, label_width(category));
  const std::size_t stride = 1 + static_cast<std::size_t>((widest + 6) / spacing);
  std::string svg;
  for (std::size_t i = 0; i < chart.categories.size(); ++i) {
    const double middle = kLeft + spacing * (static_cast<double>(i) + 0.5);
    double x = middle - bar * static_cast<double>(chart.series.size()) / 2;
    for (const BarSeries& series : chart.series) {
      const double value = i < series.values.size() ? series.values[i] : 0;
      // A value that is not a number has a bar without height.
      const double y = y_of(axis, value > 0 ? std::min(value, axis.highest()) : 0);
      svg += fmt::format(
          R"(<rect class="bar f{}" x="{:.2f}" y="{:.1f}" width="{:.2f}" height="{:.1f}"><title>{}: {}</title></rect>)",
          series.colour % kColours, x, y, 0.95 * bar, kHeight - kBottom - y,
          label_html(fmt::format("{}, {} {}", series.name, chart.categories[i], chart.x_title)), format_share(value));
      x += bar;
    }
    if (i % stride == 0) svg += svg_text(middle, kHeight - kBottom + 14, chart.categories[i], "text-anchor=\"middle\"");
  }
  return svg;
}

}  // namespace

SvgPicture draw(const BarChart& chart) {
  const Axis axis = make_axis(chart);
  SvgPicture picture{.width = kWidth, .height = kHeight, .title = chart.title, .body = {}};
  picture.body = svg_text(kLeft, 14, chart.title, "class=\"title\"") + draw_axis(axis);
  if (chart.series.size() > 1) picture.body += draw_legend(chart);
  picture.body += draw_bars(chart, axis) + svg_text(kWidth - kRight, kHeight - 4, chart.x_title, "text-anchor=\"end\"");
  return picture;
}

}  // namespace edgewise
