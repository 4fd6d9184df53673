// SPDX-License-Identifier: Apache-2.0
// edgewise compare RUN… [-o PAGE.html]
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/progress.h"
#include "edgewise/experiment/run_charts.h"
#include "edgewise/experiment/run_record.h"
#include "edgewise/base/files.h"
#include "edgewise/viz/page.h"
#include "edgewise/viz/palette.h"

namespace edgewise {
namespace {

struct CompareCommand {
  std::vector<std::string> runs;
  std::string page;
};

/// A column: its name, and for each run a text.
struct Column {
  std::string name;
  std::vector<std::string> cells;
};

using Runs = std::vector<RunRecord>;

template <class Text>
void add_column(std::vector<Column>& columns, const std::string& name, const Runs& runs, Text text_of) {
  Column column{.name = name, .cells = {}};
  for (const RunRecord& run : runs) column.cells.push_back(text_of(run));
  if (!std::ranges::all_of(column.cells, &std::string::empty)) columns.push_back(std::move(column));
}

/// Options that are not the same in all runs.
std::vector<Column> differing_options(const Runs& runs) {
  std::vector<Column> columns;
  for (std::size_t i = 0; i < runs.front().settings.size(); ++i) {
    const auto& [name, first_value] = runs.front().settings[i];
    const auto value_in = [i](const RunRecord& run) { return run.settings[i].second; };
    const bool differs = std::ranges::any_of(
        runs, [&value = first_value, &value_in](const RunRecord& run) { return value_in(run) != value; });
    if (differs) add_column(columns, name, runs, value_in);
  }
  return columns;
}

using BestPoint = std::optional<std::pair<double, double>>;

template <class Best>
void add_best(std::vector<Column>& columns, const std::string& name, const Runs& runs, double factor, int digits,
              Best best_of) {
  const auto text = [&](const RunRecord& run) {
    const BestPoint best = best_of(run);
    return best ? fmt::format("{:.{}f}", factor * best->second, digits) : std::string();
  };
  const auto step = [&](const RunRecord& run) {
    const BestPoint best = best_of(run);
    return best ? fmt::format("{:.0f}", best->first) : std::string();
  };
  add_column(columns, name, runs, text);
  add_column(columns, "at step", runs, step);
}

std::vector<Column> table_of(const Runs& runs) {
  std::vector<Column> columns;
  add_column(columns, "run", runs, [](const RunRecord& run) { return run.name; });
  add_column(columns, "steps", runs, [](const RunRecord& run) { return std::to_string(run.steps); });
  add_best(columns, "best BLEU", runs, 1, 2, [](const RunRecord& run) { return run.highest("valid_bleu"); });
  add_best(columns, "sequences right %", runs, 100, 2,
           [](const RunRecord& run) { return run.highest("valid_sequence_accuracy"); });
  add_best(columns, "best loss", runs, 1, 4, [](const RunRecord& run) { return run.lowest("valid_loss"); });
  add_column(columns, "tokens/s", runs, [](const RunRecord& run) {
    const auto speed = run.tokens_per_second();
    return speed ? fmt::format("{:.0f}", *speed) : std::string();
  });
  add_column(columns, "time", runs, [](const RunRecord& run) { return human_time(run.seconds()); });
  // Last, since the paths of data may be long.
  for (Column& column : differing_options(runs)) columns.push_back(std::move(column));
  return columns;
}

std::size_t width_of(const Column& column) {
  std::size_t width = column.name.size();
  for (const std::string& cell : column.cells) width = std::max(width, cell.size());
  return width;
}

/// The first column to the left, numbers to the right.
void print_table(const std::vector<Column>& columns) {
  const auto print_row = [&](const auto& cell_of) {
    std::string line = fmt::format("{:<{}}", cell_of(columns.front()), width_of(columns.front()));
    for (std::size_t i = 1; i < columns.size(); ++i) {
      line += fmt::format("  {:>{}}", cell_of(columns[i]), width_of(columns[i]));
    }
    fmt::print("{}\n", line);
  };
  print_row([](const Column& column) { return column.name; });
  for (std::size_t row = 0; row < columns.front().cells.size(); ++row) {
    print_row([row](const Column& column) { return column.cells[row]; });
  }
}

std::string html_table(const std::vector<Column>& columns) {
  std::string html = "<div class=\"wide\"><table>\n<tr>";
  for (const Column& column : columns) html += fmt::format("<th>{}</th>", escaped_html(column.name));
  html += "</tr>\n";
  for (std::size_t row = 0; row < columns.front().cells.size(); ++row) {
    html += fmt::format("<tr><td><span class=\"key c{}\"></span>{}</td>", row % kColours,
                        escaped_html(columns.front().cells[row]));
    for (std::size_t i = 1; i < columns.size(); ++i) {
      html += fmt::format("<td>{}</td>", escaped_html(columns[i].cells[row]));
    }
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

std::string html_charts(const Runs& runs) {
  std::string charts;
  for (const SvgPicture& chart : charts_of(runs)) charts += svg_for_page(chart);
  return "<div class=\"charts\">\n" + charts + "</div>\n";
}

int run_compare(const CompareCommand& command) {
  Runs runs;
  for (const std::string& run : command.runs) runs.push_back(read_run(run, "compare"));
  const std::vector<Column> columns = table_of(runs);
  print_table(columns);
  if (!command.page.empty()) {
    const std::string title = runs.size() == 1 ? runs.front().name : fmt::format("{} runs", runs.size());
    write_file_atomically(command.page, html_page(title, html_table(columns) + html_charts(runs)), "compare");
  }
  return 0;
}

}  // namespace

void add_compare(CLI::App& program, int& exit_code) {
  auto command = std::make_shared<CompareCommand>();
  CLI::App* compare =
      program.add_subcommand("compare", "Set runs side by side: options that differ, best scores, speed, curves");
  compare->add_option("runs", command->runs, "run directories, of runs that are over or not")->required();
  compare->add_option("-o,--out", command->page, "an HTML page with their curves, everything in one file");
  compare->callback([command, &exit_code] { exit_code = run_compare(*command); });
}

}  // namespace edgewise
