// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/escape_html.h"
#include "edgewise/base/files/json.h"
#include "edgewise/experiment/attention_log.h"
#include "edgewise/experiment/evaluate.h"
#include "edgewise/pictures/pictures.h"
#include "edgewise/pictures/run_comparison.h"
#include "edgewise/viz/animation.h"
#include "edgewise/viz/page.h"

namespace edgewise {
namespace {

constexpr std::string_view kPictureTraining = "picture training";

using Runs = std::vector<RunRecord>;

/// The attention that one run recorded at its validations: the selected map and all heads, a frame per validation.
struct AttentionInTraining {
  std::string run;
  std::vector<AttentionSnapshot> snapshots;
  std::vector<AnimationFrame> selected;
  std::vector<AnimationFrame> all;  // empty for a model with one head in all
};

struct Training {
  Runs runs;
  std::vector<AttentionInTraining> attention;  // one entry for each run that recorded attention
};

const AttentionMaps& maps_of(const AttentionSnapshot& snapshot, const AttentionMapSelection& selection) {
  const std::string where = fmt::format("{}: attention.jsonl at step {}", kPictureTraining, snapshot.step);
  return snapshot.maps[select_kind(selection, snapshot.maps.size(), where)];
}

AttentionInTraining attention_of(std::string run, std::vector<AttentionSnapshot> snapshots,
                                 const AttentionMapSelection& selection) {
  AttentionInTraining attention{.run = std::move(run), .snapshots = {}, .selected = {}, .all = {}};
  for (const AttentionSnapshot& snapshot : snapshots) {
    const AttentionMaps& maps = maps_of(snapshot, selection);
    const std::string caption = fmt::format("step {}", snapshot.step);
    attention.selected.push_back({caption, draw(make_heat_map(maps, select_map(selection, maps, kPictureTraining)))});
    if (maps.num_layers() * maps.num_heads() > 1) attention.all.push_back({caption, draw_grid(maps)});
  }
  attention.snapshots = std::move(snapshots);
  return attention;
}

Training read_training(const std::vector<std::string>& runs, const AttentionMapSelection& selection) {
  Training training;
  for (const std::string& run : runs) {
    training.runs.push_back(read_run(run, kPictureTraining));
    std::vector<AttentionSnapshot> snapshots = read_attention_log(run, kPictureTraining);
    if (!snapshots.empty()) training.attention.push_back(attention_of(run, std::move(snapshots), selection));
  }
  check(
      !training.attention.empty() || selection.is_default(),
      "{}: {} saved no attention, --attention, --layer and --head need a run that did; train with [show] in the config",
      kPictureTraining, training.runs.size() == 1 ? training.runs.front().name : "none of the runs");
  return training;
}

std::string title_of(const Runs& runs) {
  return runs.size() == 1 ? "Training of " + runs.front().name : fmt::format("Training of {} runs", runs.size());
}

std::string page_of(const Training& training) {
  std::string body = svg_for_page(legend_of(training.runs)) + charts_html(training.runs);
  for (const AttentionInTraining& attention : training.attention) {
    body += fmt::format("<h2>Attention of {} during training</h2>\n", label_html(attention.run));
    body += player_html("Validation, one map", attention.selected);
    if (!attention.all.empty()) body += player_html("Validation, all heads", attention.all);
  }
  return html_page({.title = title_of(training.runs),
                    .body = body,
                    .style = page_file("player.css"),
                    .script = page_file("player.js")});
}

std::string svg_of(const Training& training) {
  constexpr std::size_t kFrames = 6;
  std::vector<SvgPicture> pictures = {legend_of(training.runs), arrange_pictures("", charts_of(training.runs), 2)};
  for (const AttentionInTraining& attention : training.attention) {
    pictures.push_back(draw_film_strip("", attention.selected, 3, kFrames));
  }
  return svg_file(arrange_pictures(title_of(training.runs), pictures));
}

/// Animates the attention of the first run that recorded it; without such a run, draws the curves.
std::string png_of(const Training& training) {
  if (training.attention.empty()) return png_from_svg(svg_of(training));
  return animated_png(training.attention.front().selected);
}

std::string json_of_snapshot(const AttentionSnapshot& snapshot) {
  const std::string maps =
      json_array(snapshot.maps, [](const AttentionMaps& maps_of_kind) { return json_of(maps_of_kind); });
  return JsonObject().add("step", snapshot.step).add_json("maps", maps).text();
}

std::string json_of(const Training& training) {
  JsonObject attention;
  for (const AttentionInTraining& recorded : training.attention) {
    attention.add_json(recorded.run, json_array(recorded.snapshots, json_of_snapshot));
  }
  return JsonObject().add_json("runs", json_of(training.runs)).add_json("attention", attention.text()).text() + "\n";
}

constexpr const char* kPictureReport = "picture report";

constexpr std::string_view kReportStyle = R"(
.sentences { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 340px), 1fr)); }
figure { margin: 0; }
td { unicode-bidi: isolate; }
td, th { text-align: left; white-space: normal; }
)";

std::string translations_section(const std::vector<std::string>& inputs, const std::vector<TranslatedText>& outputs) {
  std::string rows;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    rows +=
        fmt::format("<tr><td dir=\"auto\">{}</td><td dir=\"auto\">{}</td></tr>\n",
                    escape_html(printable_token(inputs[i], 1000)), escape_html(printable_token(outputs[i].text, 1000)));
  }
  return "<h2>Translations</h2>\n<table>\n<tr><th>input</th><th>output</th></tr>\n" + rows + "</table>\n";
}

/// Draws for each sentence the mean over the last layer's heads, the map that `translate --alignments` uses.
std::string attention_section(const TranslationModel& model, const std::vector<std::string>& inputs,
                              const std::vector<TranslatedText>& outputs) {
  std::string figures;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const AttentionMaps maps = attention_maps(model, encode_pair(model, inputs[i], outputs[i], kPictureReport)).back();
    HeatMap map = make_heat_map(maps, {.layer = maps.num_layers() - 1, .head = {}});
    map.title = printable_token(inputs[i], 40);
    figures += "<figure>" + svg_for_page(draw(map)) + "</figure>\n";
  }
  return "<h2>Attention</h2>\n<p>A row is a predicted token, a column a token of the input; the weights "
         "are those of the last layer, averaged over its heads.</p>\n<div class=\"sentences\">\n" +
         figures + "</div>\n";
}

}  // namespace

PictureForms picture_training(const std::vector<std::string>& runs, const AttentionMapSelection& map) {
  const auto training = std::make_shared<const Training>(read_training(runs, map));
  return {.html = [training] { return page_of(*training); },
          .svg = [training] { return svg_of(*training); },
          .json = [training] { return json_of(*training); },
          .png = [training] { return png_of(*training); }};
}

std::string run_report_page(const std::string& run, const std::vector<std::string>& inputs) {
  const RunRecord record = read_run(run, kPictureReport);
  const TranslationModel model = load_model(run);
  for (const std::string& input : inputs) encode_pair(model, input, "", kPictureReport);
  const std::vector<TranslatedText> outputs = translate(model, inputs);
  return html_page({.title = "The run " + run,
                    .body = "<h2>Training</h2>\n" + charts_html({record}) + translations_section(inputs, outputs) +
                            attention_section(model, inputs, outputs),
                    .style = kReportStyle});
}

}  // namespace edgewise
