// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "edgewise/base/escape_html.h"
#include "edgewise/experiment/evaluate.h"
#include "edgewise/pictures/pictures.h"
#include "edgewise/pictures/run_charts.h"
#include "edgewise/viz/label.h"
#include "edgewise/viz/page.h"

namespace edgewise {
namespace {

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
    const AttentionMaps maps =
        attention_maps(model, encode_pair(model, inputs[i], outputs[i], kPictureReport))[kCrossMaps];
    HeatMap map = make_heat_map(maps, {.layer = maps.num_layers() - 1, .head = {}});
    map.title = printable_token(inputs[i], 40);
    figures += "<figure>" + svg_for_page(draw(map)) + "</figure>\n";
  }
  return "<h2>Attention</h2>\n<p>A row is a predicted token, a column a token of the input; the weights "
         "are those of the last layer, averaged over its heads.</p>\n<div class=\"sentences\">\n" +
         figures + "</div>\n";
}

}  // namespace

std::string run_report_page(const std::string& run, const std::vector<std::string>& inputs) {
  const RunRecord record = read_run(run, kPictureReport);
  const TranslationModel model = open_model(run);
  for (const std::string& input : inputs) encode_pair(model, input, "", kPictureReport);
  const std::vector<TranslatedText> outputs = translate(model, inputs);
  return html_page({.title = "The run " + run,
                    .body = "<h2>Training</h2>\n" + charts_html({record}) + translations_section(inputs, outputs) +
                            attention_section(model, inputs, outputs),
                    .style = std::string(kReportStyle)});
}

}  // namespace edgewise
