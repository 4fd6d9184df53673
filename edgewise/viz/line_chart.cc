// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "edgewise/viz/page.h"

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
  axis.lowest =
      scale == AxisScale::kLogarithmic ? axis.lowest * 0.97 : std::min(axis.lowest, std::max(0.0, axis.lowest - room));
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
    svg += fmt::format(R"(<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>)", drawing.x(tick),
                       kHeight - kBottom + 14, short_number(tick));
  }
  return svg;
}

std::string line_of(const Curve& curve, const Points& points, const Drawing& drawing) {
  const std::string name = escaped_html(curve.name);
  const int colour = curve.colour % kColours;
  if (points.size() == 1) {
    return fmt::format(R"(<circle class="c{}" r="3" cx="{:.1f}" cy="{:.1f}"><title>{}</title></circle>)", colour,
                       drawing.x(points[0].first), drawing.y(points[0].second), name);
  }
  std::string places;
  for (const auto& [x, y] : points) places += fmt::format("{:.1f},{:.1f} ", drawing.x(x), drawing.y(y));
  return fmt::format(R"(<polyline class="c{}{}" points="{}"><title>{}</title></polyline>)", colour,
                     curve.style == LineStyle::kDashed ? " dashed" : "", places, name);
}

}  // namespace

std::string svg_of(const LineChart& chart, double highest_x) {
  std::vector<Points> curves;
  for (const Curve& curve : chart.curves) curves.push_back(thinned(curve.points, chart.scale));
  if (std::ranges::all_of(curves, [](const Points& points) { return points.empty(); })) return "";

  const Drawing drawing = {{.lowest = 0, .highest = highest_x}, upright_axis(curves, chart.scale)};
  const std::string title = escaped_html(chart.title);
  std::string svg = fmt::format(R"(<svg viewBox="0 0 {} {}" role="img" aria-label="{}">)", kWidth, kHeight, title);
  svg += fmt::format(R"(<text class="title" x="{}" y="14">{}</text>)", kLeft, title);
  svg += grid(drawing);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    if (!curves[i].empty()) svg += line_of(chart.curves[i], curves[i], drawing);
  }
  svg += fmt::format(R"(<text x="{}" y="{}" text-anchor="end">{}</text></svg>)", kWidth - kRight, kHeight - 4,
                     escaped_html(chart.of_x));
  return svg + "\n";
}

}  // namespace edgewise
