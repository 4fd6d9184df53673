// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "edgewise/viz/palette.h"

namespace edgewise {
namespace {

// Sizes in SVG units. A chart is small, so that its text is readable on a phone.
constexpr double kWidth = 400;
constexpr double kHeight = 240;
constexpr double kLeft = 42;
constexpr double kRight = 8;
constexpr double kLabelGap = 4;  // between a label of the y axis and the curves
constexpr double kTop = 24;
constexpr double kBottom = 34;
constexpr std::size_t kMaxPoints = 300;

using Points = std::vector<std::pair<double, double>>;

/// Removes points that cannot be drawn, and averages runs of points, so that at most kMaxPoints remain.
Points downsample(const Points& points, AxisScale scale, double highest_x) {
  Points drawable;
  std::ranges::copy_if(points, std::back_inserter(drawable), [&](const auto& point) {
    return point.first >= 0 && point.first <= highest_x && can_draw(point.second, scale);
  });
  const std::size_t run = (drawable.size() + kMaxPoints - 1) / kMaxPoints;
  if (run <= 1) return drawable;
  Points means;
  for (std::size_t begin = 0; begin < drawable.size(); begin += run) {
    const std::size_t end = std::min(begin + run, drawable.size());
    std::pair<double, double> sum = {0, 0};
    for (std::size_t i = begin; i < end; ++i) {
      sum.first += drawable[i].first;
      sum.second += drawable[i].second;
    }
    const auto count = static_cast<double>(end - begin);
    means.emplace_back(sum.first / count, sum.second / count);
  }
  return means;
}

/// Returns an axis that contains all points and a margin, but no value below 0 unless a point is below 0.
Axis make_y_axis(const std::vector<Points>& curves, AxisScale scale) {
  const double smallest = scale == AxisScale::kLogarithmic ? kSmallestDrawn : -kLargestDrawn;
  double lowest = kLargestDrawn;
  double highest = smallest;
  for (const Points& points : curves) {
    for (const auto& [x, y] : points) {
      lowest = std::min(lowest, y);
      highest = std::max(highest, y);
    }
  }
  const Axis tight(lowest, highest, scale);
  const double margin = 0.05 * (tight.highest() - tight.lowest());
  const double top = std::min(tight.highest() + margin, kLargestDrawn);
  if (scale == AxisScale::kLogarithmic) return {std::max(0.97 * tight.lowest(), smallest), top, scale};
  return {std::max(tight.lowest() - margin, lowest < 0 ? smallest : 0.0), top, scale};
}

struct Tick {
  double value = 0.0;
  std::string label;
};

std::vector<Tick> make_ticks(const Axis& axis) {
  std::vector<Tick> ticks;
  for (const double value : axis.ticks(5)) ticks.push_back({value, format_number(value)});
  return ticks;
}

/// The axes with their ticks, and the left edge of the curves, which depends on the labels of the y axis.
struct Scales {
  Scales(const Axis& x, const Axis& y) : x_axis(x), y_axis(y), x_ticks(make_ticks(x)), y_ticks(make_ticks(y)) {
    for (const Tick& tick : y_ticks) left = std::max(left, label_width(tick.label) + kLabelGap);
  }

  double x(double value) const { return left + x_axis.normalise(value) * (kWidth - left - kRight); }
  double y(double value) const { return kHeight - kBottom - y_axis.normalise(value) * (kHeight - kTop - kBottom); }

  Axis x_axis;
  Axis y_axis;
  std::vector<Tick> x_ticks;
  std::vector<Tick> y_ticks;
  double left = kLeft;
};

std::string draw_axes(const Scales& scales) {
  std::string svg;
  for (const Tick& tick : scales.y_ticks) {
    const double y = scales.y(tick.value);
    svg += fmt::format(R"(<line class="grid" x1="{:.1f}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>)", scales.left,
                       kWidth - kRight, y, y);
    svg += svg_text(scales.left - kLabelGap, y + 3.5, tick.label, "text-anchor=\"end\"");
  }
  for (const Tick& tick : scales.x_ticks) {
    svg += svg_text(std::min(scales.x(tick.value), kWidth - 4 - label_width(tick.label) / 2), kHeight - kBottom + 14,
                    tick.label, "text-anchor=\"middle\"");
  }
  return svg;
}

std::string draw_curve(const Curve& curve, const Points& points, const Scales& scales) {
  const std::string name = label_html(curve.name);
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
    svg += fmt::format(R"(<rect class="f{}" x="{:.1f}" y="{}" width="10" height="3"/>)", curve.colour % kColours, x,
                       kHeight - 9);
    svg += svg_text(x + 13, kHeight - 4, fit_label(curve.name, 90));
    x += 13 + std::min(90.0, label_width(curve.name)) + 14;
  }
  return svg;
}

}  // namespace

SvgPicture draw(const LineChart& chart, double highest_x) {
  SvgPicture picture{.width = kWidth, .height = kHeight, .title = chart.title, .body = {}};
  std::vector<Points> curves;
  for (const Curve& curve : chart.curves) curves.push_back(downsample(curve.points, chart.scale, highest_x));
  if (std::ranges::all_of(curves, [](const Points& points) { return points.empty(); })) return picture;

  const Scales scales(Axis(0, highest_x), make_y_axis(curves, chart.scale));
  picture.body = svg_text(kLeft, 14, chart.title, "class=\"title\"") + draw_axes(scales);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    if (!curves[i].empty()) picture.body += draw_curve(chart.curves[i], curves[i], scales);
  }
  if (chart.has_legend) picture.body += draw_legend(chart);
  picture.body += svg_text(kWidth - kRight, kHeight - 4, chart.x_title, "text-anchor=\"end\"");
  return picture;
}

}  // namespace edgewise
