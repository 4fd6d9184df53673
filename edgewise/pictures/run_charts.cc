// SPDX-License-Identifier: Apache-2.0
#include "edgewise/pictures/run_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "edgewise/base/files/json.h"
#include "edgewise/viz/label.h"
#include "edgewise/viz/line_chart.h"
#include "edgewise/viz/palette.h"

namespace edgewise {
namespace {

using Runs = std::vector<RunRecord>;

void add_curves(LineChart& chart, const Runs& runs, std::string_view metric, LineStyle style) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    chart.curves.push_back(
        {.name = runs[i].name, .points = runs[i].curve(metric), .colour = static_cast<int>(i), .style = style});
  }
}

std::string json_of(const RunRecord::Points& points) {
  return json_array(points, [](const auto& point) {
    return fmt::format("[{}, {}]", json_number(point.first), json_number(point.second));
  });
}

}  // namespace

std::vector<SvgPicture> charts_of(const Runs& runs) {
  std::int64_t last_step = 1;
  for (const RunRecord& run : runs) last_step = std::max(last_step, run.steps);
  std::vector<SvgPicture> pictures;
  const auto add = [&](LineChart chart) {
    chart.x_title = "step";
    SvgPicture picture = draw(chart, static_cast<double>(last_step));
    if (!picture.body.empty()) pictures.push_back(std::move(picture));
  };

  LineChart loss{.title = "Loss a token: training, validation dashed",
                 .x_title = {},
                 .scale = AxisScale::kLogarithmic,
                 .curves = {}};
  add_curves(loss, runs, "loss", LineStyle::kSolid);
  add_curves(loss, runs, "valid_loss", LineStyle::kDashed);
  add(std::move(loss));
  for (const auto& [title, metric] : {std::pair{"BLEU of validation", "valid_bleu"},
                                      {"Sequences right in validation", "valid_sequence_accuracy"},
                                      {"Learning rate", "learning_rate"},
                                      {"Tokens a second", "tokens_per_second"}}) {
    LineChart chart{.title = title, .x_title = {}, .scale = AxisScale::kLinear, .curves = {}};
    add_curves(chart, runs, metric, LineStyle::kSolid);
    add(std::move(chart));
  }
  return pictures;
}

std::string charts_html(const Runs& runs) {
  std::string charts = "<div class=\"charts\">\n";
  for (const SvgPicture& chart : charts_of(runs)) charts += svg_for_page(chart);
  return charts + "</div>\n";
}

SvgPicture legend_of(const Runs& runs) {
  SvgPicture picture{.width = 400, .height = 8, .title = "Runs", .body = {}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    picture.height += 18;
    picture.body += fmt::format("<rect class=\"f{}\" x=\"42\" y=\"{}\" width=\"10\" height=\"10\"/>", i % kColours,
                                picture.height - 17);
    picture.body += svg_text(58, picture.height - 8, fit_label(runs[i].name, 330)) + "\n";
  }
  return picture;
}

std::string json_of(const Runs& runs) {
  return json_array(runs, [](const RunRecord& run) {
    JsonObject curves;
    for (const auto& [metric, points] : run.curves) curves.add_json(metric, json_of(points));
    return JsonObject().add("name", run.name).add_json("curves", curves.text()).text();
  });
}

}  // namespace edgewise
