// SPDX-License-Identifier: Apache-2.0
// edgewise picture report RUN --input FILE -o FILE.html
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/experiment/run_charts.h"
#include "edgewise/experiment/run_record.h"
#include "edgewise/experiment/sentence_attention.h"
#include "edgewise/experiment/translation_task.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files.h"
#include "edgewise/text/line_reader.h"
#include "edgewise/viz/page.h"

namespace edgewise {
namespace {

constexpr const char* kPictureReport = "picture report";

constexpr std::string_view kStyle = R"(
.sentences { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 340px), 1fr)); }
figure { margin: 0; }
td { unicode-bidi: isolate; }
td, th { text-align: left; white-space: normal; }
)";

struct ReportCommand {
  std::string run;
  std::string input;
  std::string page;
};

std::string training_section(const RunRecord& run) {
  std::string charts;
  for (const SvgPicture& chart : charts_of({run})) charts += svg_for_page(chart);
  return "<h2>How it learned</h2>\n<div class=\"charts\">\n" + charts + "</div>\n";
}

std::string translations_section(const std::vector<std::string>& inputs, const std::vector<TranslatedText>& outputs) {
  std::string rows;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    rows += fmt::format("<tr><td dir=\"auto\">{}</td><td dir=\"auto\">{}</td></tr>\n",
                        escaped_html(shown_token(inputs[i], 1000)), escaped_html(shown_token(outputs[i].text, 1000)));
  }
  return "<h2>What it makes of sentences</h2>\n<table>\n<tr><th>input</th><th>output</th></tr>\n" + rows + "</table>\n";
}

/// The mean over the last layer's heads, as `translate --alignments` has it.
std::string attention_section(const TranslationModel& model, const std::vector<std::string>& inputs,
                              const std::vector<TranslatedText>& outputs) {
  std::string figures;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const AttentionMaps maps =
        attention_maps(model, encode_pair(model, inputs[i], outputs[i], kPictureReport))[kCrossMaps];
    HeatMap map = heat_map(maps, {.layer = maps.num_layers() - 1, .head = {}});
    map.title = shown_token(inputs[i], 40);
    figures += "<figure>" + svg_for_page(draw(map)) + "</figure>\n";
  }
  return "<h2>Where it looks meanwhile</h2>\n<p>A row is a token that it says, a column one of the input; the weights "
         "are those of the last layer, averaged over its heads.</p>\n<div class=\"sentences\">\n" +
         figures + "</div>\n";
}

int run_report(const ReportCommand& command) {
  check(command.page.ends_with(".html"), "{}: --out is {}, needs a name that ends with .html", kPictureReport,
        command.page);
  const std::vector<std::string> inputs = read_sentences(command.input, kPictureReport);
  const RunRecord run = read_run(command.run, kPictureReport);
  const TranslationModel model = open_model(command.run);
  for (const std::string& input : inputs) encode_pair(model, input, "", kPictureReport);
  const std::vector<TranslatedText> outputs = translate(model, inputs);
  write_file_atomically(command.page,
                        html_page({.title = "The run " + command.run,
                                   .body = training_section(run) + translations_section(inputs, outputs) +
                                           attention_section(model, inputs, outputs),
                                   .style = std::string(kStyle)}),
                        kPictureReport);
  return 0;
}

}  // namespace

void add_picture_report(CLI::App& picture, int& exit_code) {
  auto command = std::make_shared<ReportCommand>();
  CLI::App* report = picture.add_subcommand("report", "A page of a run: its curves, sentences, and where it looks");
  report->add_option("run", command->run, "a run directory")->required();
  report->add_option("--input", command->input, "a file of a few sentences, one a line; - for standard input")
      ->required();
  report->add_option("-o,--out", command->page, "the page, a .html")->required();
  report->callback([command, &exit_code] { exit_code = run_report(*command); });
}

}  // namespace edgewise
