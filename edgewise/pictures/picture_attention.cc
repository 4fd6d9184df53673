// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "edgewise/base/error.h"
#include "edgewise/experiment/evaluate.h"
#include "edgewise/pictures/attention_alignment.h"
#include "edgewise/pictures/pictures.h"

namespace edgewise {
namespace {

constexpr const char* kPictureAttention = "picture attention";

/// Draws the selected map or, where the layer or the head is not selected, a grid of its maps.
SvgPicture drawing_of(const AttentionMapSelection& selection, const AttentionMaps& maps) {
  const MapIndex map = select_map(selection, maps, kPictureAttention);
  const bool has_both = !selection.layer.empty() && !selection.head.empty();
  if (has_both || selection.layer == kMeanMap || selection.head == kMeanMap) return draw(make_heat_map(maps, map));
  return draw_grid(
      maps, {selection.layer.empty() ? std::nullopt : map.layer, selection.head.empty() ? std::nullopt : map.head});
}

/// The drawn pair, and all pairs, over which alignment errors are counted.
struct PicturePairs {
  AlignmentPairs all;
  std::size_t drawn = 0;
  TokenPair tokens;
};

PicturePairs translate_input(const std::string& input, const TranslationModel& model) {
  // A sentence that is too long must throw before it is translated.
  encode_pair(model, input, "", kPictureAttention);
  const TranslatedText output = translate(model, {input}).front();
  return {.all = {.inputs = {input}, .outputs = {output.text}, .gold = {}},
          .tokens = encode_pair(model, input, output, kPictureAttention)};
}

PicturePairs read_given_pairs(const AttentionPictureOptions& options, const TranslationModel& model) {
  PicturePairs pairs;
  if (options.input) {
    pairs.all = {.inputs = {*options.input}, .outputs = {*options.output}, .gold = {}};
  } else {
    pairs.all = read_alignment_pairs(options.pairs, kPictureAttention);
  }
  const std::size_t count = pairs.all.inputs.size();
  pairs.drawn = static_cast<std::size_t>(options.line - 1);
  check(pairs.drawn < count, "{}: --line is {}, needs a number from 1 to {}", kPictureAttention, options.line, count);
  pairs.tokens = encode_pair(model, pairs.all.inputs[pairs.drawn], pairs.all.outputs[pairs.drawn], kPictureAttention);
  return pairs;
}

PicturePairs read_picture_pairs(const AttentionPictureOptions& options, const TranslationModel& model) {
  const bool is_to_translate = options.input && !options.output;
  PicturePairs pairs = is_to_translate ? translate_input(*options.input, model) : read_given_pairs(options, model);
  if (!options.gold.empty()) read_gold_alignments(options.gold, options.gold_first, pairs.all, kPictureAttention);
  return pairs;
}

/// Adds a sentence pair, its attention and the alignments of its maps to the page.
void add_sentence_pair(const AttentionPictureOptions& options, const TranslationModel& model, AttentionPage& page) {
  const PicturePairs pairs = read_picture_pairs(options, model);
  page.input = pairs.all.inputs[pairs.drawn];
  page.output = pairs.all.outputs[pairs.drawn];
  page.maps = attention_maps(model, pairs.tokens);
  page.aligned_kind = page.maps.size() - 1;
  page.alignment = align_words(model, pairs.all, pairs.drawn, page.maps.back(), kPictureAttention);
}

/// Adds a text and the attention of a language model to the page.
void add_language_text(const AttentionPictureOptions& options, const TranslationModel& model, AttentionPage& page) {
  check(options.input && !options.output && options.pairs.empty(),
        "{}: {} is a language model, needs its text by --input, without --output and --pairs", kPictureAttention,
        options.model);
  page.input = *options.input;
  page.maps = attention_maps(model, encode_text(model, page.input, kPictureAttention));
}

}  // namespace

PictureForms picture_attention(const AttentionPictureOptions& options) {
  check(options.input || !options.pairs.empty(), "{}: there is no sentence, needs --input or --pairs",
        kPictureAttention);
  const TranslationModel model = load_model(options.model);
  const ModelKind kind = model.experiment.model.kind;
  AttentionPage page;
  page.title = "Attention of a " + std::string(model_name(kind));
  has_encoder(kind) ? add_sentence_pair(options, model, page) : add_language_text(options, model, page);
  page.initial_kind = select_kind(options.map, page.maps.size(), kPictureAttention);
  page.initial_map = select_map(options.map, page.maps[page.initial_kind], kPictureAttention);
  const auto shared = std::make_shared<const AttentionPage>(std::move(page));
  return {.html = [shared] { return html_of(*shared); },
          .svg = [shared, map = options.map] { return svg_file(drawing_of(map, shared->maps[shared->initial_kind])); },
          .json = [shared] { return json_of(*shared); }};
}

}  // namespace edgewise
