// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/json.h"
#include "edgewise/experiment/run_record.h"
#include "edgewise/experiment/translation_model.h"
#include "edgewise/graph/batch.h"
#include "edgewise/pictures/pictures.h"
#include "edgewise/pictures/sentence_steps.h"
#include "edgewise/text/corpus/line_reader.h"
#include "edgewise/viz/animation.h"
#include "edgewise/viz/bar_chart.h"
#include "edgewise/viz/page.h"
#include "edgewise/viz/ponder_picture.h"

namespace edgewise {
namespace {

constexpr std::string_view kPictureHalting = "picture halting";
constexpr std::size_t kMaxSentences = 20;  // sentences that a page draws with bars under their tokens
constexpr std::int64_t kMaxTokens = 1000;  // tokens of a side of a drawn sentence: edges grow with their square

struct Halting {
  std::vector<SentenceSteps> sentences;
  std::vector<ValidationSteps> training;  // a histogram per validation; empty for a model directory
  std::int64_t most_steps = 1;
  SourceFilter sources = SourceFilter::kAll;
};

std::vector<std::string> read_inputs(const HaltingPictureOptions& options) {
  std::vector<std::string> sentences = options.inputs;
  if (!options.corpus.empty()) {
    const std::vector<std::string> corpus = read_sentences(options.corpus, kPictureHalting);
    sentences.insert(sentences.end(), corpus.begin(), corpus.end());
  }
  check(!sentences.empty(), "{}: there is no sentence, needs one; give --input or --corpus", kPictureHalting);
  return sentences;
}

/// Throws Error for too many tokens. Sentences without tokens are not drawn and not counted in `number`, from 1.
void check_drawn_tokens(std::string_view side, std::size_t number, std::int64_t tokens) {
  check(tokens <= kMaxTokens, "{}: the {} of sentence {} has {} tokens, needs at most {}; choose a shorter sentence",
        kPictureHalting, side, number, tokens, kMaxTokens);
}

void check_drawn_inputs(const TranslationModel& model, const std::vector<std::string>& inputs) {
  std::size_t drawn = 0;
  for (const std::string& input : inputs) {
    if (drawn == kMaxSentences) return;
    const std::int64_t tokens = std::ssize(encode_input(model, input, kPictureHalting).tokens);
    if (tokens > 0) check_drawn_tokens("input", ++drawn, tokens);
  }
}

void check_drawn_outputs(const std::vector<SentenceSteps>& sentences) {
  for (std::size_t i = 0; i < std::min(sentences.size(), kMaxSentences); ++i) {
    check_drawn_tokens("output", i + 1, std::ssize(sentences[i].output));
  }
}

Halting measure_halting(const HaltingPictureOptions& options) {
  const TranslationModel model = load_model(options.model);
  const TransformerOptions& model_options = model.experiment.model;
  Halting halting;
  const std::vector<std::string> inputs = read_inputs(options);
  check_drawn_inputs(model, inputs);
  halting.sentences = count_ponder_steps(model, inputs);
  check_drawn_outputs(halting.sentences);
  halting.most_steps = std::max(model_options.encoder_layers, model_options.decoder_layers);
  if (model_options.universal.halted_keys == HaltedKeys::kDropped) halting.sources = SourceFilter::kActiveOnly;
  if (path_exists(std::filesystem::path(options.model) / "metrics.jsonl", kPictureHalting)) {
    halting.training = read_run(options.model, kPictureHalting).ponder_steps;
  }
  return halting;
}

SvgPicture draw_bars(const SentenceSteps& sentence, const std::string& title) {
  return draw_ponder_steps(
      title, {{.name = "input", .tokens = sentence.input}, {.name = "output", .tokens = sentence.output}});
}

AnimationFrame draw_frame(const GraphDrawing& whole, const std::vector<std::vector<std::int64_t>>& steps,
                          std::int64_t step, SourceFilter sources) {
  GraphDrawing part = select_active_subgraph(whole, steps, step, sources);
  const auto active = [&](std::size_t set) {
    return std::ranges::count_if(steps[set], [step](std::int64_t taken) { return taken >= step; });
  };
  part.title = fmt::format("Edges into the active nodes of step {}", step);
  return {.caption = fmt::format("step {}: {} of {} nodes, {} of {} edges", step, active(0) + active(1),
                                 whole.num_nodes(), part.num_edges(), whole.num_edges()),
          .picture = draw_part(part, whole)};
}

/// Draws for each ponder step the edges into nodes that have not halted.
std::vector<AnimationFrame> draw_active_graphs(const SentenceSteps& sentence, SourceFilter sources) {
  GraphDrawing whole = graph_drawing(make_pair_graph({std::ssize(sentence.input), std::ssize(sentence.output)}), "");
  std::vector<std::vector<std::int64_t>> steps(2);
  std::int64_t last = 1;
  for (std::size_t set = 0; set < 2; ++set) {
    const std::vector<TokenSteps>& tokens = set == 0 ? sentence.input : sentence.output;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      whole.sets[set].labels[i] = tokens[i].text;
      steps[set].push_back(tokens[i].steps);
      last = std::max(last, tokens[i].steps);
    }
  }
  std::vector<AnimationFrame> frames;
  for (std::int64_t step = 1; step <= last; ++step) frames.push_back(draw_frame(whole, steps, step, sources));
  return frames;
}

/// Step counts from 1 to `most_steps`, divided into at most 50 bins of equal size; the last bin may be smaller.
struct StepBins {
  explicit StepBins(std::int64_t most_steps)
      : most(most_steps), size((most - 1) / 50 + 1), count((most - 1) / size + 1) {}

  std::string name_of(std::int64_t bin) const {
    const std::int64_t first = bin * size + 1;
    const std::int64_t last = first + std::min(size - 1, most - first);
    return first == last ? std::to_string(first) : fmt::format("{}–{}", first, last);
  }

  std::int64_t most;
  std::int64_t size;
  std::int64_t count;
};

BarSeries shares_of(const char* name, const PonderHistogram& histogram, const StepBins& bins, int colour) {
  BarSeries series{.name = name, .values = std::vector<double>(static_cast<std::size_t>(bins.count)), .colour = colour};
  double total = 0;
  for (const auto& [steps, nodes] : histogram) total += static_cast<double>(nodes);
  if (total == 0) return series;
  for (const auto& [steps, nodes] : histogram) {
    if (steps < 1 || steps > bins.most) continue;
    series.values[static_cast<std::size_t>((steps - 1) / bins.size)] += static_cast<double>(nodes) / total;
  }
  return series;
}

SvgPicture draw_distribution(std::string title, const PonderHistogram& input, const PonderHistogram& output,
                             std::int64_t most_steps, double highest = 0) {
  const StepBins bins(most_steps);
  BarChart chart{.title = std::move(title), .x_title = "steps", .categories = {}, .series = {}, .highest = highest};
  for (std::int64_t bin = 0; bin < bins.count; ++bin) chart.categories.push_back(bins.name_of(bin));
  chart.series = {shares_of("input", input, bins, 0), shares_of("output", output, bins, 1)};
  return draw(chart);
}

SvgPicture draw_sentence_distribution(const Halting& halting) {
  return draw_distribution(fmt::format("Steps of the tokens of {} sentence{}", halting.sentences.size(),
                                       halting.sentences.size() == 1 ? "" : "s"),
                           ponder_histogram(halting.sentences, &SentenceSteps::input),
                           ponder_histogram(halting.sentences, &SentenceSteps::output), halting.most_steps);
}

/// Draws a histogram per validation, all on the same axis.
std::vector<AnimationFrame> draw_training_distributions(const Halting& halting) {
  std::vector<AnimationFrame> frames;
  for (const ValidationSteps& validation : halting.training) {
    frames.push_back({.caption = fmt::format("step {}, epoch {}", validation.step, validation.epoch),
                      .picture = draw_distribution("Steps of the tokens of validation", validation.encoder,
                                                   validation.decoder, halting.most_steps, 1.0)});
  }
  return frames;
}

std::string page_of(const Halting& halting) {
  std::string body = "<h2>Ponder steps of each token</h2>\n";
  for (std::size_t i = 0; i < std::min(halting.sentences.size(), kMaxSentences); ++i) {
    body += svg_at_full_size(draw_bars(halting.sentences[i], fmt::format("Sentence {}", i + 1)));
  }
  body += "<h2>Active nodes in each step</h2>\n";
  body += player_html("Ponder step", draw_active_graphs(halting.sentences.front(), halting.sources));
  body += "<h2>Ponder steps of tokens</h2>\n" + svg_for_page(draw_sentence_distribution(halting));
  if (!halting.training.empty()) {
    body += "<h2>Ponder steps during training</h2>\n";
    body += player_html("Validation", draw_training_distributions(halting));
  }
  return html_page(
      {.title = "Halting", .body = body, .style = page_file("player.css"), .script = page_file("player.js")});
}

std::string svg_of(const Halting& halting) {
  constexpr std::size_t kFrames = 9;
  std::vector<SvgPicture> pictures = {draw_bars(halting.sentences.front(), "Ponder steps of each token")};
  pictures.push_back(draw_film_strip("", draw_active_graphs(halting.sentences.front(), halting.sources), 3, kFrames));
  pictures.push_back(draw_sentence_distribution(halting));
  if (!halting.training.empty()) pictures.push_back(draw_film_strip("", draw_training_distributions(halting), 3, 6));
  return svg_file(arrange_pictures("Ponder steps", pictures));
}

/// Writes the object of `inspect --ponder --json`, and the histograms of the validations.
std::string json_of(const Halting& halting) {
  const std::string training = json_array(halting.training, [](const ValidationSteps& validation) {
    return JsonObject()
        .add("step", validation.step)
        .add("epoch", validation.epoch)
        .add("input_steps", validation.encoder)
        .add("output_steps", validation.decoder)
        .text();
  });
  return JsonObject()
             .add_json("halting", sentence_steps_json(halting.sentences))
             .add_json("training", training)
             .text() +
         "\n";
}

/// Animates the histograms of training or, for a model directory, the graph of the active nodes.
std::string png_of(const Halting& halting) {
  return halting.training.empty() ? animated_png(draw_active_graphs(halting.sentences.front(), halting.sources))
                                  : animated_png(draw_training_distributions(halting));
}

}  // namespace

PictureForms picture_halting(const HaltingPictureOptions& options) {
  const auto halting = std::make_shared<const Halting>(measure_halting(options));
  return {.html = [halting] { return page_of(*halting); },
          .svg = [halting] { return svg_of(*halting); },
          .json = [halting] { return json_of(*halting); },
          .png = [halting] { return png_of(*halting); }};
}

}  // namespace edgewise
