// SPDX-License-Identifier: Apache-2.0
// edgewise picture attention --model RUN --input "A sentence." -o FILE
#include <memory>
#include <optional>
#include <string>

#include "edgewise/experiment/attention_alignment.h"
#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/map_choice.h"
#include "edgewise/apps/picture_output.h"
#include "edgewise/experiment/sentence_attention.h"
#include "edgewise/experiment/translation_task.h"
#include "edgewise/base/error.h"

namespace edgewise {
namespace {

constexpr const char* kPictureAttention = "picture attention";

struct AttentionCommand {
  std::string model;
  std::optional<std::string> input;
  std::optional<std::string> output;
  std::string pairs;
  std::int64_t line = 1;
  std::string gold;
  std::int64_t gold_first = 1;
  MapOptions map;
  std::string file;
};

/// A head, a layer's heads or a head's layers, or all.
SvgPicture drawing_of(const AttentionCommand& command, const AttentionMaps& maps) {
  const MapOptions& options = command.map;
  const MapChoice map = chosen_map(options, maps, kPictureAttention);
  const bool has_both = !options.layer.empty() && !options.head.empty();
  if (has_both || options.layer == kMeanMap || options.head == kMeanMap) return draw(heat_map(maps, map));
  return draw_grid(maps,
                   {options.layer.empty() ? std::nullopt : map.layer, options.head.empty() ? std::nullopt : map.head});
}

/// The pair that is drawn, and those whose errors are counted.
struct ReadPairs {
  AlignmentPairs all;
  std::size_t drawn = 0;
  TokenPair tokens;
};

ReadPairs translated_input(const std::string& input, const TranslationModel& model) {
  // Encoded first, so that a sentence which is too long is told before it is translated.
  encode_pair(model, input, "", kPictureAttention);
  const TranslatedText output = translate(model, {input}).front();
  return {.all = {.inputs = {input}, .outputs = {output.text}, .gold = {}},
          .tokens = encode_pair(model, input, output, kPictureAttention)};
}

ReadPairs given_pairs(const AttentionCommand& command, const TranslationModel& model) {
  ReadPairs pairs;
  if (command.input) {
    pairs.all = {.inputs = {*command.input}, .outputs = {*command.output}, .gold = {}};
  } else {
    pairs.all = read_alignment_pairs(command.pairs, kPictureAttention);
  }
  const std::size_t count = pairs.all.inputs.size();
  pairs.drawn = static_cast<std::size_t>(command.line - 1);
  check(pairs.drawn < count, "{}: --line is {}, needs a number from 1 to {}", kPictureAttention, command.line, count);
  pairs.tokens = encode_pair(model, pairs.all.inputs[pairs.drawn], pairs.all.outputs[pairs.drawn], kPictureAttention);
  return pairs;
}

ReadPairs read_pairs(const AttentionCommand& command, const TranslationModel& model) {
  const bool is_to_translate = command.input && !command.output;
  ReadPairs pairs = is_to_translate ? translated_input(*command.input, model) : given_pairs(command, model);
  if (!command.gold.empty()) read_gold(command.gold, command.gold_first, pairs.all, kPictureAttention);
  return pairs;
}

void check_command(const AttentionCommand& command) {
  check_picture_output(command.file, kPictureAttention);
  check(command.input || !command.pairs.empty(), "{}: there is no sentence, --input or --pairs is needed",
        kPictureAttention);
}

int run_picture_attention(const AttentionCommand& command) {
  check_command(command);
  const TranslationModel model = open_model(command.model);
  const ReadPairs pairs = read_pairs(command, model);

  AttentionPage page;
  page.title = "Where the heads of a " + std::string(model_name(model.experiment.model.kind)) + " look";
  page.input = pairs.all.inputs[pairs.drawn];
  page.output = pairs.all.outputs[pairs.drawn];
  page.maps = attention_maps(model, pairs.tokens);
  page.open_maps = static_cast<std::size_t>(kind_of(command.map));
  const AttentionMaps& maps = page.maps[page.open_maps];
  page.open_map = chosen_map(command.map, maps, kPictureAttention);
  page.aligned_maps = kCrossMaps;
  page.alignment = align_words(model, pairs.all, pairs.drawn, page.maps[kCrossMaps], kPictureAttention);
  write_picture(command.file,
                {.html = [&] { return html_of(page); },
                 .svg = [&] { return svg_file(drawing_of(command, maps)); },
                 .json = [&] { return json_of(page); }},
                kPictureAttention);
  return 0;
}

}  // namespace

void add_picture_attention(CLI::App& picture, int& exit_code) {
  auto command = std::make_shared<AttentionCommand>();
  CLI::App* attention = picture.add_subcommand("attention", "Where the heads of a model look while it translates");
  attention->add_option("--model", command->model, "a run or model directory")->required();
  auto* input = attention->add_option("--input", command->input, "a sentence");
  attention->add_option("--output", command->output, "its translation; without it, the model's own")->needs(input);
  auto* pairs = attention->add_option("--pairs", command->pairs, "or a file of pairs, `input ||| output` a line")
                    ->excludes(input);
  attention->add_option("--line", command->line, "which of them is drawn, counted from 1 (default)")
      ->needs(pairs)
      ->check(CLI::PositiveNumber);
  attention->add_option("--gold", command->gold,
                        "which words belong together, a line a pair: `2-3`, surely, or `2p3`, possibly, word 2 of the "
                        "input and 3 of the output; how often each head errs is told");
  attention->add_option("--gold-first", command->gold_first, "the number of the first word there; 1 (default) or 0")
      ->check(CLI::Range(0, 1));
  add_map_options(*attention, command->map);
  add_picture_output(*attention, command->file);
  attention->callback([command, &exit_code] { exit_code = run_picture_attention(*command); });
}

}  // namespace edgewise
