// SPDX-License-Identifier: Apache-2.0
// edgewise picture training RUN… -o FILE
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/experiment/attention_log.h"
#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/map_choice.h"
#include "edgewise/apps/picture_output.h"
#include "edgewise/experiment/run_charts.h"
#include "edgewise/experiment/run_record.h"
#include "edgewise/base/error.h"
#include "edgewise/base/json.h"
#include "edgewise/viz/animation.h"
#include "edgewise/viz/arranged.h"
#include "edgewise/viz/page.h"

namespace edgewise {
namespace {

constexpr std::string_view kPictureTraining = "picture training";

struct TrainingCommand {
  std::vector<std::string> runs;
  MapOptions map;
  std::string out;
};

using Runs = std::vector<RunRecord>;

/// Where the model of one run looked, in the map that was asked for and in all heads.
struct AttentionInTraining {
  std::string run;
  std::vector<AttentionMoment> moments;
  std::vector<Frame> chosen;
  std::vector<Frame> all;  // empty where there is but one head
};

struct Training {
  Runs runs;
  std::vector<AttentionInTraining> attention;  // of the runs that saved it
};

const AttentionMaps& maps_of(const AttentionMoment& moment, const MapOptions& options) {
  const auto kind = static_cast<std::size_t>(kind_of(options));
  check(kind < moment.maps.size(), "{}: attention.jsonl has {} kinds of attention at step {}, needs {}",
        kPictureTraining, moment.maps.size(), moment.step, kind + 1);
  return moment.maps[kind];
}

AttentionInTraining attention_of(std::string run, std::vector<AttentionMoment> moments, const MapOptions& options) {
  AttentionInTraining attention{.run = std::move(run), .moments = {}, .chosen = {}, .all = {}};
  for (const AttentionMoment& moment : moments) {
    const AttentionMaps& maps = maps_of(moment, options);
    const std::string caption = fmt::format("step {}", moment.step);
    attention.chosen.push_back({caption, draw(heat_map(maps, chosen_map(options, maps, kPictureTraining)))});
    if (maps.num_layers() * maps.num_heads() > 1) attention.all.push_back({caption, draw_grid(maps)});
  }
  attention.moments = std::move(moments);
  return attention;
}

Training look_at(const TrainingCommand& command) {
  Training training;
  for (const std::string& run : command.runs) {
    training.runs.push_back(read_run(run, kPictureTraining));
    std::vector<AttentionMoment> moments = read_attention(run, kPictureTraining);
    if (!moments.empty()) training.attention.push_back(attention_of(run, std::move(moments), command.map));
  }
  check(
      !training.attention.empty() || !asks_for_a_map(command.map),
      "{}: {} saved no attention, --attention, --layer and --head need a run that did; train with [show] in the config",
      kPictureTraining, training.runs.size() == 1 ? training.runs.front().name : "none of the runs");
  return training;
}

std::string title_of(const Runs& runs) {
  return runs.size() == 1 ? "Training of " + runs.front().name : fmt::format("Training of {} runs", runs.size());
}

std::string page_of(const Training& training) {
  std::string body = svg_for_page(legend_of(training.runs)) + "<div class=\"charts\">\n";
  for (const SvgPicture& chart : charts_of(training.runs)) body += svg_for_page(chart);
  body += "</div>\n";
  for (const AttentionInTraining& attention : training.attention) {
    body += fmt::format("<h2>Where {} looked as it learned</h2>\n", escaped_html(attention.run));
    body += player_html("Validation, one map", attention.chosen);
    if (!attention.all.empty()) body += player_html("Validation, all heads", attention.all);
  }
  return html_page({.title = title_of(training.runs),
                    .body = body,
                    .style = std::string(player_style()),
                    .script = std::string(player_script())});
}

std::string svg_of(const Training& training) {
  constexpr std::size_t kMoments = 6;
  std::vector<SvgPicture> pictures = {legend_of(training.runs), arranged("", charts_of(training.runs), 2)};
  for (const AttentionInTraining& attention : training.attention) {
    pictures.push_back(film_strip("", attention.chosen, 3, kMoments));
  }
  return svg_file(arranged(title_of(training.runs), pictures));
}

/// The attention of the first run that saved it, as it changed; of none, the curves.
std::string png_of(const Training& training) {
  if (training.attention.empty()) return in_pixels(svg_of(training));
  return animated_png(training.attention.front().chosen);
}

std::string json_of(const Training& training) {
  JsonObject attention;
  for (const AttentionInTraining& of_run : training.attention) {
    std::string moments;
    for (const AttentionMoment& moment : of_run.moments) {
      std::string maps;
      for (const AttentionMaps& of_kind : moment.maps) maps += (maps.empty() ? "" : ", ") + json_of(of_kind);
      moments += (moments.empty() ? "" : ", ") +
                 JsonObject().add("step", moment.step).add_json("maps", "[" + maps + "]").text();
    }
    attention.add_json(of_run.run, "[" + moments + "]");
  }
  return JsonObject().add_json("runs", json_of(training.runs)).add_json("attention", attention.text()).text() + "\n";
}

int run_training(const TrainingCommand& command) {
  check_picture_output(command.out, kPictureTraining);
  const Training training = look_at(command);
  write_picture(command.out,
                {.html = [&] { return page_of(training); },
                 .svg = [&] { return svg_of(training); },
                 .json = [&] { return json_of(training); },
                 .png = [&] { return png_of(training); }},
                kPictureTraining);
  return 0;
}

}  // namespace

void add_picture_training(CLI::App& picture, int& exit_code) {
  const auto command = std::make_shared<TrainingCommand>();
  CLI::App* training = picture.add_subcommand(
      "training", "How runs went: loss, scores, learning rate, speed, and where the model looked as it learned");
  training->add_option("runs", command->runs, "run directories, of runs that are over or not")->required();
  add_map_options(*training, command->map);
  add_picture_output(*training, command->out);
  training->callback([command, &exit_code] { exit_code = run_training(*command); });
}

}  // namespace edgewise
