// SPDX-License-Identifier: Apache-2.0
// edgewise picture attention --model RUN --input "A sentence." -o FILE
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <string>

#include "edgewise/apps/attention_alignment.h"
#include "edgewise/apps/commands.h"
#include "edgewise/apps/enum_option.h"
#include "edgewise/apps/picture_output.h"
#include "edgewise/apps/sentence_attention.h"
#include "edgewise/apps/translation_task.h"
#include "edgewise/base/error.h"

namespace edgewise {
namespace {

constexpr const char* kCaller = "picture attention";
constexpr std::string_view kMean = "mean";

enum class AttentionKind { kEncoder = kEncoderMaps, kDecoder = kDecoderMaps, kCross = kCrossMaps };

constexpr auto enum_names(AttentionKind) {
  return std::array{EnumName<AttentionKind>{AttentionKind::kEncoder, "encoder"},
                    EnumName<AttentionKind>{AttentionKind::kDecoder, "decoder"},
                    EnumName<AttentionKind>{AttentionKind::kCross, "cross"}};
}

struct AttentionCommand {
  std::string model;
  std::optional<std::string> input;
  std::optional<std::string> output;
  std::string pairs;
  std::int64_t line = 1;
  std::string gold;
  std::int64_t gold_first = 1;
  AttentionKind kind = AttentionKind::kCross;
  std::string layer;  // a number or "mean"; empty: not said
  std::string head;
  std::string file;
};

/// None for the mean.
std::optional<std::size_t> index_of(const std::string& text, std::size_t count, std::string_view option) {
  if (text == kMean) return std::nullopt;
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  check(error == std::errc() && end == text.data() + text.size() && index < count,
        "{}: {} is {}, needs a number from 0 to {}, or mean", kCaller, option, text, count - 1);
  return index;
}

/// What a page opens with: where nothing else is said the mean over the last layer's heads, as `translate
/// --alignments`.
MapChoice chosen_map(const AttentionCommand& command, const AttentionMaps& maps) {
  const std::string last = std::to_string(maps.num_layers() - 1);
  return {index_of(command.layer.empty() ? last : command.layer, maps.num_layers(), "--layer"),
          index_of(command.head.empty() ? std::string(kMean) : command.head, maps.num_heads(), "--head")};
}

/// A head, a layer's heads or a head's layers, or all.
SvgPicture drawing_of(const AttentionCommand& command, const AttentionMaps& maps) {
  const MapChoice map = chosen_map(command, maps);
  const bool has_both = !command.layer.empty() && !command.head.empty();
  if (has_both || command.layer == kMean || command.head == kMean) return draw(heat_map(maps, map));
  return draw_grid(maps,
                   {command.layer.empty() ? std::nullopt : map.layer, command.head.empty() ? std::nullopt : map.head});
}

AlignmentPairs pairs_of(const AttentionCommand& command, const TranslationModel& model) {
  AlignmentPairs pairs;
  if (command.input) {
    // Encoded first, so that a sentence which is too long is told before it is translated.
    encode_pair(model, *command.input, command.output.value_or(""), kCaller);
    pairs.inputs = {*command.input};
    pairs.outputs = {command.output ? *command.output : translate(model, pairs.inputs).front()};
  } else {
    pairs = read_alignment_pairs(command.pairs, kCaller);
  }
  if (!command.gold.empty()) read_gold(command.gold, command.gold_first, pairs, kCaller);
  return pairs;
}

void check_command(const AttentionCommand& command) {
  check_picture_output(command.file, kCaller);
  check(command.input || !command.pairs.empty(), "{}: there is no sentence, --input or --pairs is needed", kCaller);
}

int run_picture_attention(const AttentionCommand& command) {
  check_command(command);
  const TranslationModel model = open_model(command.model);
  const AlignmentPairs pairs = pairs_of(command, model);
  const auto line = static_cast<std::size_t>(command.line - 1);
  check(line < pairs.inputs.size(), "{}: --line is {}, needs a number from 1 to {}", kCaller, command.line,
        pairs.inputs.size());

  AttentionPage page;
  page.title = "Where the heads of a " + std::string(model_name(model.experiment.model.kind)) + " look";
  page.input = pairs.inputs[line];
  page.output = pairs.outputs[line];
  page.maps = attention_maps(model, encode_pair(model, page.input, page.output, kCaller));
  page.open_maps = static_cast<std::size_t>(command.kind);
  const AttentionMaps& maps = page.maps[page.open_maps];
  page.open_map = chosen_map(command, maps);
  page.aligned_maps = kCrossMaps;
  page.alignment = align_words(model, pairs, line, page.maps[kCrossMaps], kCaller);
  write_picture(command.file,
                {.html = [&] { return html_of(page); },
                 .svg = [&] { return svg_file(drawing_of(command, maps)); },
                 .json = [&] { return json_of(page); }},
                kCaller);
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
  attention
      ->add_option("--attention", command->kind, "what is shown first, or drawn: encoder, decoder or cross (default)")
      ->transform(one_of<AttentionKind>());
  attention->add_option("--layer", command->layer, "of it, from 0, or mean; a drawing without it shows all");
  attention->add_option("--head", command->head, "likewise");
  add_picture_output(*attention, command->file);
  attention->callback([command, &exit_code] { exit_code = run_picture_attention(*command); });
}

}  // namespace edgewise
