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

// In units of the drawing, small enough for its letters to be read on a telephone.
constexpr double kWidth = 400;
constexpr double kHeight = 240;
constexpr double kLeft = 42;
constexpr double kRight = 8;
constexpr double kTop = 24;
constexpr double kBottom = 34;
constexpr std::size_t kMostPoints = 300;

using Points = std::vector<std::pair<double, double>>;

/// Means of as many runs of points as can be seen.
Points thinned(const Points& points, AxisScale scale) {
  Points finite;
  std::ranges::copy_if(points, std::back_inserter(finite), [scale](const auto& point) {
    return std::isfinite(point.second) && (scale == AxisScale::kLinear || point.second > 0);
  });
  const std::size_t run = (finite.size() + kMostPoints - 1) / kMostPoints;
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

/// The highest and lowest of all points, with some room.
Axis upright_axis(const std::vector<Points>& curves, AxisScale scale) {
  Axis axis{.lowest = INFINITY, .highest = -INFINITY, .scale = scale};
  for (const Points& points : curves) {
    for (const auto& [x, y] : points) {
      axis.lowest = std::min(axis.lowest, y);
      axis.highest = std::max(axis.highest, y);
    }
  }
  const double room = 0.05 * (axis.highest > axis.lowest ? axis.highest - axis.lowest : std::abs(axis.highest) + 1e-9);
  axis.highest += room;
  if (scale == AxisScale::kLogarithmic) {
    axis.lowest *= 0.97;
  } else {
    // Numbers that are never below 0 stand on it.
    axis.lowest = axis.lowest < 0 ? axis.lowest - room : std::max(0.0, axis.lowest - room);
  }
  return axis;
}

/// Where numbers lie on the drawing.
struct Drawing {
  Axis across;
  Axis upright;

  double x(double value) const { return kLeft + across.place(value) * (kWidth - kLeft - kRight); }
  double y(double value) const { return kHeight - kBottom - upright.place(value) * (kHeight - kTop - kBottom); }
};

std::string grid(const Drawing& drawing) {
  std::string svg;
  for (const double tick : drawing.upright.ticks(5)) {
    svg += fmt::format(R"(<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>)", kLeft, kWidth - kRight,
                       drawing.y(tick), drawing.y(tick));
    svg += fmt::format(R"(<text x="{}" y="{:.1f}" text-anchor="end">{}</text>)", kLeft - 4, drawing.y(tick) + 3.5,
                       short_number(tick));
  }
  for (const double tick : drawing.across.ticks(5)) {
    const std::string number = short_number(tick);
    svg += svg_text(std::min(drawing.x(tick), kWidth - 4 - label_width(number) / 2), kHeight - kBottom + 14, number,
                    "text-anchor=\"middle\"");
  }
  return svg;
}

std::string line_of(const Curve& curve, const Points& points, const Drawing& drawing) {
  const std::string name = escaped_html(curve.name);
  const int colour = curve.colour % kColours;
  if (points.size() == 1) {
    return fmt::format(R"(<circle class="f{}" r="3" cx="{:.1f}" cy="{:.1f}"><title>{}</title></circle>)", colour,
                       drawing.x(points[0].first), drawing.y(points[0].second), name);
  }
  std::string places;
  for (const auto& [x, y] : points) places += fmt::format("{:.1f},{:.1f} ", drawing.x(x), drawing.y(y));
  return fmt::format(R"(<polyline class="line s{}{}" points="{}"><title>{}</title></polyline>)", colour,
                     curve.style == LineStyle::kDashed ? " dashed" : "", places, name);
}

/// Below the left half of the chart, where the lower side's name is not.
std::string legend_of(const LineChart& chart) {
  std::string svg;
  double x = kLeft;
  for (const Curve& curve : chart.curves) {
    svg += fmt::format("<rect class=\"f{}\" x=\"{:.1f}\" y=\"{}\" width=\"10\" height=\"3\"/>", curve.colour % kColours,
                       x, kHeight - 9);
    svg += svg_text(x + 13, kHeight - 4, label_within(curve.name, 90));
    x += 13 + std::min(90.0, label_width(curve.name)) + 14;
  }
  return svg;
}

}  // namespace

SvgPicture draw(const LineChart& chart, double highest_x) {
  SvgPicture picture{.width = kWidth, .height = kHeight, .title = chart.title, .body = {}};
  std::vector<Points> curves;
  for (const Curve& curve : chart.curves) curves.push_back(thinned(curve.points, chart.scale));
  if (std::ranges::all_of(curves, [](const Points& points) { return points.empty(); })) return picture;

  const Drawing drawing = {{.lowest = 0, .highest = highest_x}, upright_axis(curves, chart.scale)};
  picture.body = svg_text(kLeft, 14, chart.title, "class=\"title\"") + grid(drawing);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    if (!curves[i].empty()) picture.body += line_of(chart.curves[i], curves[i], drawing);
  }
  if (chart.has_legend) picture.body += legend_of(chart);
  picture.body += svg_text(kWidth - kRight, kHeight - 4, chart.of_x, "text-anchor=\"end\"");
  return picture;
}

}  // namespace edgewise
