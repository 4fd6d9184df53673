// SPDX-License-Identifier: Apache-2.0
// edgewise picture halting --model RUN --input "A sentence." -o FILE
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/experiment/drawn_relation.h"
#include "edgewise/apps/picture_output.h"
#include "edgewise/experiment/ponder.h"
#include "edgewise/experiment/run_record.h"
#include "edgewise/base/error.h"
#include "edgewise/base/json.h"
#include "edgewise/graph/graph_pool.h"
#include "edgewise/text/line_reader.h"
#include "edgewise/viz/animation.h"
#include "edgewise/viz/arranged.h"
#include "edgewise/viz/bar_chart.h"
#include "edgewise/viz/page.h"
#include "edgewise/viz/thinking_picture.h"

namespace edgewise {
namespace {

constexpr std::string_view kPictureHalting = "picture halting";
constexpr std::size_t kSentencesShown = 20;  // with bars under their words

struct HaltingCommand {
  std::string model;
  std::vector<std::string> inputs;
  std::string corpus;
  std::string out;
};

/// What is drawn.
struct Halting {
  std::vector<PonderedSentence> sentences;
  std::vector<ValidationSteps> training;  // of a run; of a model alone none
  std::int64_t most_steps = 1;
  SeenByActive seen = SeenByActive::kAll;
};

std::vector<std::string> sentences_of(const HaltingCommand& command) {
  std::vector<std::string> sentences = command.inputs;
  if (!command.corpus.empty()) {
    const std::vector<std::string> corpus = read_sentences(command.corpus, kPictureHalting);
    sentences.insert(sentences.end(), corpus.begin(), corpus.end());
  }
  check(!sentences.empty(), "{}: there is no sentence, needs one; give --input or --corpus", kPictureHalting);
  return sentences;
}

Halting look_at(const HaltingCommand& command) {
  const TranslationModel model = open_model(command.model);
  const TransformerOptions& options = model.experiment.model;
  Halting halting;
  halting.sentences = ponder(model, sentences_of(command));
  halting.most_steps = std::max(options.encoder_layers, options.decoder_layers);
  if (options.universal.halted_keys == HaltedKeys::kDropped) halting.seen = SeenByActive::kActiveOnly;
  if (std::filesystem::exists(std::filesystem::path(command.model) / "metrics.jsonl")) {
    halting.training = read_run(command.model, kPictureHalting).thinking;
  }
  return halting;
}

// --- bars under words

std::vector<ThoughtToken> thought(const std::vector<PonderedToken>& tokens) {
  std::vector<ThoughtToken> drawn;
  drawn.reserve(tokens.size());
  for (const PonderedToken& token : tokens) drawn.push_back({token.text, token.steps});
  return drawn;
}

SvgPicture bars_of(const PonderedSentence& sentence, const std::string& title) {
  return draw_thinking(title, {{.name = "input", .tokens = thought(sentence.input)},
                               {.name = "output", .tokens = thought(sentence.output)}});
}

// --- the graph that is left

Frame frame_of(const GraphDrawing& whole, const std::vector<std::vector<std::int64_t>>& steps, std::int64_t step,
               SeenByActive seen) {
  GraphDrawing part = active_part(whole, steps, step, seen);
  const auto active = [&](std::size_t set) {
    return std::ranges::count_if(steps[set], [step](std::int64_t taken) { return taken >= step; });
  };
  part.title = fmt::format("Who still thinks in step {}, and whom they see", step);
  return {.caption = fmt::format("step {}: {} of {} nodes, {} of {} edges", step, active(0) + active(1),
                                 whole.num_nodes(), part.num_edges(), whole.num_edges()),
          .picture = draw_part(part, whole)};
}

/// Step by step, the edges into nodes that have not halted.
std::vector<Frame> shrinking_graph(const PonderedSentence& sentence, SeenByActive seen) {
  GraphPool pool;
  GraphDrawing whole = drawing_of(pool.pair({std::ssize(sentence.input), std::ssize(sentence.output)}), "");
  std::vector<std::vector<std::int64_t>> steps(2);
  std::int64_t last = 1;
  for (std::size_t set = 0; set < 2; ++set) {
    const std::vector<PonderedToken>& tokens = set == 0 ? sentence.input : sentence.output;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      whole.sets[set].labels[i] = tokens[i].text;
      steps[set].push_back(tokens[i].steps);
      last = std::max(last, tokens[i].steps);
    }
  }
  std::vector<Frame> frames;
  for (std::int64_t step = 1; step <= last; ++step) frames.push_back(frame_of(whole, steps, step, seen));
  return frames;
}

// --- distributions

BarSeries shares_of(const char* name, const StepHistogram& histogram, std::int64_t most_steps, int colour) {
  BarSeries series{.name = name, .values = std::vector<double>(static_cast<std::size_t>(most_steps)), .colour = colour};
  double total = 0;
  for (const auto& [steps, nodes] : histogram) total += static_cast<double>(nodes);
  for (const auto& [steps, nodes] : histogram) {
    if (steps < 1 || steps > most_steps) continue;
    series.values[static_cast<std::size_t>(steps - 1)] = static_cast<double>(nodes) / total;
  }
  return series;
}

SvgPicture distribution(std::string title, const StepHistogram& input, const StepHistogram& output,
                        std::int64_t most_steps, double highest = 0) {
  BarChart chart{.title = std::move(title), .of_x = "steps", .categories = {}, .series = {}, .highest = highest};
  for (std::int64_t step = 1; step <= most_steps; ++step) chart.categories.push_back(std::to_string(step));
  chart.series = {shares_of("input", input, most_steps, 0), shares_of("output", output, most_steps, 1)};
  return draw(chart);
}

SvgPicture distribution_of(const Halting& halting) {
  return distribution(fmt::format("Steps of the tokens of {} sentence{}", halting.sentences.size(),
                                  halting.sentences.size() == 1 ? "" : "s"),
                      step_histogram(halting.sentences, &PonderedSentence::input),
                      step_histogram(halting.sentences, &PonderedSentence::output), halting.most_steps);
}

/// Of each validation; all on one axis, so that bars can be compared.
std::vector<Frame> distributions_in_training(const Halting& halting) {
  std::vector<Frame> frames;
  for (const ValidationSteps& validation : halting.training) {
    frames.push_back({.caption = fmt::format("step {}, epoch {}", validation.step, validation.epoch),
                      .picture = distribution("Steps of the tokens of validation", validation.encoder,
                                              validation.decoder, halting.most_steps, 1.0)});
  }
  return frames;
}

// --- forms

std::string page_of(const Halting& halting) {
  std::string body = "<h2>Steps under the words</h2>\n";
  for (std::size_t i = 0; i < std::min(halting.sentences.size(), kSentencesShown); ++i) {
    body += svg_in_full(bars_of(halting.sentences[i], fmt::format("Sentence {}", i + 1)));
  }
  body += "<h2>The graph that still thinks</h2>\n";
  body += player_html("Step of thinking", shrinking_graph(halting.sentences.front(), halting.seen));
  body += "<h2>How long tokens think</h2>\n" + svg_for_page(distribution_of(halting));
  if (!halting.training.empty()) {
    body += "<h2>How that changed in training</h2>\n";
    body += player_html("Validation", distributions_in_training(halting));
  }
  return html_page({.title = "How long it thinks",
                    .body = body,
                    .style = std::string(player_style()),
                    .script = std::string(player_script())});
}

std::string svg_of(const Halting& halting) {
  constexpr std::size_t kFrames = 9;
  std::vector<SvgPicture> pictures = {bars_of(halting.sentences.front(), "Steps under each word")};
  pictures.push_back(film_strip("", shrinking_graph(halting.sentences.front(), halting.seen), 3, kFrames));
  pictures.push_back(distribution_of(halting));
  if (!halting.training.empty()) pictures.push_back(film_strip("", distributions_in_training(halting), 3, 6));
  return svg_file(arranged("Steps of thinking", pictures));
}

std::string histogram_json(const StepHistogram& histogram) {
  JsonObject json;
  for (const auto& [steps, nodes] : histogram) json.add(std::to_string(steps), nodes);
  return json.text();
}

/// What `inspect --ponder --json` says, and the distributions of training.
std::string json_of(const Halting& halting) {
  std::string training;
  for (const ValidationSteps& validation : halting.training) {
    training += (training.empty() ? "" : ", ") + JsonObject()
                                                     .add("step", validation.step)
                                                     .add("epoch", validation.epoch)
                                                     .add_json("input_steps", histogram_json(validation.encoder))
                                                     .add_json("output_steps", histogram_json(validation.decoder))
                                                     .text();
  }
  return JsonObject()
             .add_json("thinking", ponder_json(halting.sentences))
             .add_json("training", "[" + training + "]")
             .text() +
         "\n";
}

/// What moves: training where there is one, else the graph.
std::string png_of(const Halting& halting) {
  return halting.training.empty() ? animated_png(shrinking_graph(halting.sentences.front(), halting.seen))
                                  : animated_png(distributions_in_training(halting));
}

int run_halting(const HaltingCommand& command) {
  check_picture_output(command.out, kPictureHalting);
  const Halting halting = look_at(command);
  write_picture(command.out,
                {.html = [&] { return page_of(halting); },
                 .svg = [&] { return svg_of(halting); },
                 .json = [&] { return json_of(halting); },
                 .png = [&] { return png_of(halting); }},
                kPictureHalting);
  return 0;
}

}  // namespace

void add_picture_halting(CLI::App& picture, int& exit_code) {
  const auto command = std::make_shared<HaltingCommand>();
  CLI::App* halting =
      picture.add_subcommand("halting", "How many steps a Universal Transformer thinks about each token");
  halting->add_option("--model", command->model, "a run or model directory; a run shows its training too")->required();
  halting->add_option("--input", command->inputs, "a sentence to translate; repeatable")->allow_extra_args(false);
  halting->add_option("--corpus", command->corpus, "sentences, one a line; - for standard input");
  add_picture_output(*halting, command->out);
  halting->callback([command, &exit_code] { exit_code = run_halting(*command); });
}

}  // namespace edgewise
