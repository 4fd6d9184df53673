// SPDX-License-Identifier: Apache-2.0
// edgewise compare RUN… [-o PAGE.html]
#include <algorithm>
#include <filesystem>
#include <memory>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/base/files/files.h"
#include "edgewise/pictures/run_comparison.h"
#include "edgewise/translate/model_paths.h"
#include "edgewise/viz/svg.h"

namespace edgewise {
namespace {

struct CompareCommand {
  std::vector<std::string> runs;
  std::string page;
};

std::size_t width_of(const ComparisonColumn& column) {
  std::size_t width = column.name.size();
  for (const std::string& cell : column.cells) width = std::max(width, cell.size());
  return width;
}

/// Escapes control characters and cuts long cells. The first column keeps the end of long paths, which may tell runs
/// apart.
void make_printable(std::vector<ComparisonColumn>& columns) {
  constexpr std::size_t kMaxName = 400;  // bytes
  constexpr std::size_t kMaxCell = 60;   // characters
  for (std::string& name : columns.front().cells) name = printable(name, kMaxName);
  for (ComparisonColumn& column : std::span(columns).subspan(1)) {
    for (std::string& cell : column.cells) cell = printable_token(cell, kMaxCell);
  }
}

/// Prints the first column left-aligned and all other columns right-aligned.
void print_table(std::vector<ComparisonColumn> columns) {
  make_printable(columns);
  const auto print_row = [&](const auto& cell_of) {
    std::string line = fmt::format("{:<{}}", cell_of(columns.front()), width_of(columns.front()));
    for (std::size_t i = 1; i < columns.size(); ++i) {
      line += fmt::format("  {:>{}}", cell_of(columns[i]), width_of(columns[i]));
    }
    print_output("{}\n", line);
  };
  print_row([](const ComparisonColumn& column) { return column.name; });
  for (std::size_t row = 0; row < columns.front().cells.size(); ++row) {
    print_row([row](const ComparisonColumn& column) { return column.cells[row]; });
  }
}

void run_compare(const CompareCommand& command) {
  std::optional<AtomicFile> page;
  if (!command.page.empty()) {
    check_output_file(command.page, std::vector<std::filesystem::path>(command.runs.begin(), command.runs.end()),
                      "compare");
    page.emplace(command.page, "compare");
  }
  std::vector<RunRecord> runs;
  for (const std::string& run : command.runs) runs.push_back(read_run(run, "compare"));
  if (page) {
    page->write(comparison_page(runs));
    page->commit();
  }
  print_table(compare_runs(runs));
}

}  // namespace

void add_compare(CLI::App& program) {
  auto command = std::make_shared<CompareCommand>();
  CLI::App* compare =
      program.add_subcommand("compare", "Compare runs: options that differ, best scores, speed and curves");
  add_path(*compare, "runs", command->runs, "run directories, of finished or running runs")->required();
  add_path(*compare, "-o,--out", command->page, "an HTML page to write, with the table and the curves in one file");
  compare->callback([command] { run_compare(*command); });
}

}  // namespace edgewise
