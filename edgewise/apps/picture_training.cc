// SPDX-License-Identifier: Apache-2.0
// edgewise picture training RUN… -o FILE
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "edgewise/apps/commands.h"
#include "edgewise/apps/picture_output.h"
#include "edgewise/apps/run_charts.h"
#include "edgewise/apps/run_record.h"
#include "edgewise/viz/animation.h"
#include "edgewise/viz/arranged.h"
#include "edgewise/viz/page.h"

namespace edgewise {
namespace {

constexpr std::string_view kCaller = "picture training";

struct TrainingCommand {
  std::vector<std::string> runs;
  std::string out;
};

using Runs = std::vector<RunRecord>;

std::string title_of(const Runs& runs) {
  return runs.size() == 1 ? "Training of " + runs.front().name : fmt::format("Training of {} runs", runs.size());
}

std::string page_of(const Runs& runs) {
  std::string body = svg_for_page(legend_of(runs)) + "<div class=\"charts\">\n";
  for (const SvgPicture& chart : charts_of(runs)) body += svg_for_page(chart);
  return html_page({.title = title_of(runs), .body = body + "</div>\n"});
}

std::string svg_of(const Runs& runs) {
  std::vector<SvgPicture> pictures = charts_of(runs);
  pictures.insert(pictures.begin(), legend_of(runs));
  return svg_file(arranged(title_of(runs), pictures, 2));
}

int run_training(const TrainingCommand& command) {
  check_picture_output(command.out, kCaller);
  Runs runs;
  for (const std::string& run : command.runs) runs.push_back(read_run(run, kCaller));
  write_picture(command.out,
                {.html = [&] { return page_of(runs); },
                 .svg = [&] { return svg_of(runs); },
                 .json = [&] { return json_of(runs) + "\n"; }},
                kCaller);
  return 0;
}

}  // namespace

void add_picture_training(CLI::App& picture, int& exit_code) {
  const auto command = std::make_shared<TrainingCommand>();
  CLI::App* training = picture.add_subcommand("training", "How runs went: loss, scores, learning rate, speed");
  training->add_option("runs", command->runs, "run directories, of runs that are over or not")->required();
  add_picture_output(*training, command->out);
  training->callback([command, &exit_code] { exit_code = run_training(*command); });
}

}  // namespace edgewise
