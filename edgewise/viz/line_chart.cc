// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "edgewise/viz/label.h"
#include "edgewise/viz/page.h"
#include "edgewise/viz/palette.h"

namespace edgewise {
namespace {

// Sizes in SVG units. The chart is small, so that its text is readable on a phone.
constexpr double kWidth = 400;
constexpr double kHeight = 240;
constexpr double kLeft = 42;
constexpr double kRight = 8;
constexpr double kTop = 24;
constexpr double kBottom = 34;
constexpr std::size_t kMaxPoints = 300;

using Points = std::vector<std::pair<double, double>>;

/// Removes points that cannot be drawn, and averages runs of points, so that at most kMaxPoints remain.
Points downsample(const Points& points, AxisScale scale) {
  Points finite;
  std::ranges::copy_if(points, std::back_inserter(finite), [scale](const auto& point) {
    return std::isfinite(point.second) && (scale == AxisScale::kLinear || point.second > 0);
  });
  const std::size_t run = (finite.size() + kMaxPoints - 1) / kMaxPoints;
  if (run <= 1) return finite;
  Points means;
  for (std::size_t begin = 0; begin < finite.size(); begin += run) {
    const std::size_t end = std::min(begin + run, finite.size());
    std::pair<double, double> sum = {0, 0};
    for (std::size_t i = begin; i < end; ++i) {
      sum.first += finite[i].first;
      sum.second += finite[i].second;
    }
    const auto count = static_cast<double>(end - begin);
    means.emplace_back(sum.first / count, sum.second / count);
  }
  return means;
}

/// Returns an axis that contains all points and a margin.
Axis make_y_axis(const std::vector<Points>& curves, AxisScale scale) {
  Axis axis{.lowest = INFINITY, .highest = -INFINITY, .scale = scale};
  for (const Points& points : curves) {
    for (const auto& [x, y] : points) {
      axis.lowest = std::min(axis.lowest, y);
      axis.highest = std::max(axis.highest, y);
    }
  }
  const double margin =
      0.05 * (axis.highest > axis.lowest ? axis.highest - axis.lowest : std::abs(axis.highest) + 1e-9);
  axis.highest += margin;
  if (scale == AxisScale::kLogarithmic) {
    axis.lowest *= 0.97;
  } else {
    // If no value is negative, the axis does not extend below 0.
    axis.lowest = axis.lowest < 0 ? axis.lowest - margin : std::max(0.0, axis.lowest - margin);
  }
  return axis;
}

/// Converts values to coordinates of the picture.
struct Scales {
  Axis x_axis;
  Axis y_axis;

  double x(double value) const { return kLeft + x_axis.normalise(value) * (kWidth - kLeft - kRight); }
  double y(double value) const { return kHeight - kBottom - y_axis.normalise(value) * (kHeight - kTop - kBottom); }
};

std::string draw_axes(const Scales& scales) {
  std::string svg;
  for (const double tick : scales.y_axis.ticks(5)) {
    svg += fmt::format(R"(<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>)", kLeft, kWidth - kRight,
                       scales.y(tick), scales.y(tick));
    svg += fmt::format(R"(<text x="{}" y="{:.1f}" text-anchor="end">{}</text>)", kLeft - 4, scales.y(tick) + 3.5,
                       format_number(tick));
  }
  for (const double tick : scales.x_axis.ticks(5)) {
    const std::string number = format_number(tick);
    svg += svg_text(std::min(scales.x(tick), kWidth - 4 - label_width(number) / 2), kHeight - kBottom + 14, number,
                    "text-anchor=\"middle\"");
  }
  return svg;
}

std::string draw_curve(const Curve& curve, const Points& points, const Scales& scales) {
  const std::string name = escape_html(curve.name);
  const int colour = curve.colour % kColours;
  if (points.size() == 1) {
    return fmt::format(R"(<circle class="f{}" r="3" cx="{:.1f}" cy="{:.1f}"><title>{}</title></circle>)", colour,
                       scales.x(points[0].first), scales.y(points[0].second), name);
  }
  std::string coordinates;
  for (const auto& [x, y] : points) coordinates += fmt::format("{:.1f},{:.1f} ", scales.x(x), scales.y(y));
  return fmt::format(R"(<polyline class="line s{}{}" points="{}"><title>{}</title></polyline>)", colour,
                     curve.style == LineStyle::kDashed ? " dashed" : "", coordinates, name);
}

/// Draws the legend below the left half of the chart, because the title of x is below the right half.
std::string draw_legend(const LineChart& chart) {
  std::string svg;
  double x = kLeft;
  for (const Curve& curve : chart.curves) {
    svg += fmt::format("<rect class=\"f{}\" x=\"{:.1f}\" y=\"{}\" width=\"10\" height=\"3\"/>", curve.colour % kColours,
                       x, kHeight - 9);
    svg += svg_text(x + 13, kHeight - 4, fit_label(curve.name, 90));
    x += 13 + std::min(90.0, label_width(curve.name)) + 14;
  }
  return svg;
}

}  // namespace

SvgPicture draw(const LineChart& chart, double highest_x) {
  SvgPicture picture{.width = kWidth, .height = kHeight, .title = chart.title, .body = {}};
  std::vector<Points> curves;
  for (const Curve& curve : chart.curves) curves.push_back(downsample(curve.points, chart.scale));
  if (std::ranges::all_of(curves, [](const Points& points) { return points.empty(); })) return picture;

  const Scales scales = {{.lowest = 0, .highest = highest_x}, make_y_axis(curves, chart.scale)};
  picture.body = svg_text(kLeft, 14, chart.title, "class=\"title\"") + draw_axes(scales);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    if (!curves[i].empty()) picture.body += draw_curve(chart.curves[i], curves[i], scales);
  }
  if (chart.has_legend) picture.body += draw_legend(chart);
  picture.body += svg_text(kWidth - kRight, kHeight - 4, chart.x_title, "text-anchor=\"end\"");
  return picture;
}

}  // namespace edgewise
