// SPDX-License-Identifier: Apache-2.0
#include "edgewise/pictures/run_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "edgewise/base/escape_html.h"
#include "edgewise/base/files/json.h"
#include "edgewise/viz/line_chart.h"
#include "edgewise/viz/page.h"
#include "edgewise/viz/palette.h"

namespace edgewise {
namespace {

using Runs = std::vector<RunRecord>;

constexpr std::size_t kMaxCell = 4000;  // characters of a cell of the table

void add_column(std::vector<ComparisonColumn>& columns, const std::string& name, const Runs& runs, auto text_of) {
  ComparisonColumn column{.name = name, .cells = {}};
  for (const RunRecord& run : runs) column.cells.push_back(text_of(run));
  if (!std::ranges::all_of(column.cells, &std::string::empty)) columns.push_back(std::move(column));
}

/// Returns a column for each option whose value differs between the runs.
std::vector<ComparisonColumn> differing_options(const Runs& runs) {
  std::vector<ComparisonColumn> columns;
  for (std::size_t i = 0; i < runs.front().settings.size(); ++i) {
    const auto& [name, first_value] = runs.front().settings[i];
    const auto value_in = [i](const RunRecord& run) { return run.settings[i].second; };
    const bool differs = std::ranges::any_of(
        runs, [&value = first_value, &value_in](const RunRecord& run) { return value_in(run) != value; });
    if (differs) add_column(columns, name, runs, value_in);
  }
  return columns;
}

/// Formats a number with `digits` decimals, or briefly if it is very large; "–" if it is not finite.
std::string format_cell(double value, int digits) {
  if (!std::isfinite(value)) return "–";
  return std::abs(value) < 1e12 ? fmt::format("{:.{}f}", value, digits) : fmt::format("{:.4g}", value);
}

using BestPoint = std::optional<std::pair<double, double>>;  // step and value

void add_best(std::vector<ComparisonColumn>& columns, const std::string& name, const Runs& runs, double factor,
              int digits, auto find_best) {
  const auto text = [&](const RunRecord& run) {
    const BestPoint best = find_best(run);
    return best ? format_cell(factor * best->second, digits) : std::string();
  };
  const auto step = [&](const RunRecord& run) {
    const BestPoint best = find_best(run);
    return best ? fmt::format("{:.0f}", best->first) : std::string();
  };
  add_column(columns, name, runs, text);
  add_column(columns, "at step", runs, step);
}

std::string html_table(const std::vector<ComparisonColumn>& columns) {
  std::string html = "<div class=\"wide\"><table>\n<tr>";
  for (const ComparisonColumn& column : columns) html += fmt::format("<th>{}</th>", escape_html(column.name));
  html += "</tr>\n";
  for (std::size_t row = 0; row < columns.front().cells.size(); ++row) {
    html += fmt::format("<tr><td><span class=\"key c{}\"></span>{}</td>", row % kColours,
                        label_html(columns.front().cells[row]));
    for (std::size_t i = 1; i < columns.size(); ++i) {
      html += fmt::format("<td>{}</td>", escape_html(printable_token(columns[i].cells[row], kMaxCell)));
    }
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

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

std::string format_duration(double seconds) {
  constexpr double kLongest = 1e15;
  const auto whole = static_cast<long long>(std::llround(std::clamp(seconds, 0.0, kLongest)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::vector<ComparisonColumn> compare_runs(const Runs& runs) {
  std::vector<ComparisonColumn> columns;
  add_column(columns, "run", runs, [](const RunRecord& run) { return run.name; });
  add_column(columns, "steps", runs, [](const RunRecord& run) { return std::to_string(run.steps); });
  add_best(columns, "best BLEU", runs, 1, 2, [](const RunRecord& run) { return run.highest("valid_bleu"); });
  add_best(columns, "sequences right %", runs, 100, 2,
           [](const RunRecord& run) { return run.highest("valid_sequence_accuracy"); });
  add_best(columns, "best loss", runs, 1, 4, [](const RunRecord& run) { return run.lowest("valid_loss"); });
  add_column(columns, "tokens/s", runs, [](const RunRecord& run) {
    const auto speed = run.tokens_per_second();
    return speed ? format_cell(*speed, 0) : std::string();
  });
  add_column(columns, "time", runs, [](const RunRecord& run) { return format_duration(run.seconds()); });
  // The options come last, because the paths of data files may be long.
  for (ComparisonColumn& column : differing_options(runs)) columns.push_back(std::move(column));
  return columns;
}

std::string comparison_page(const Runs& runs) {
  const std::string title = runs.size() == 1 ? runs.front().name : fmt::format("{} runs", runs.size());
  return html_page({.title = title, .body = html_table(compare_runs(runs)) + charts_html(runs)});
}

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
