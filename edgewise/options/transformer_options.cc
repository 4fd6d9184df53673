// SPDX-License-Identifier: Apache-2.0
#include "edgewise/options/transformer_options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

/// Returns the options of the model in the from-scratch note (docs/sources.md).
TransformerOptions make_from_scratch_options() {
  TransformerOptions options;
  options.preset = TransformerPreset::kFromScratch;
  options.norm = NormKind::kStdNorm;
  options.norm_epsilon = 1e-6;
  options.positions = PositionKind::kFromScratch;
  options.embedding_init = EmbeddingInit::kNormal;
  options.tying = Tying::kNone;
  options.dropout = {.embedding = 0.0, .residual = 0.1, .attention = 0.1, .activation = 0.1};
  return options;
}

/// Returns the options of the model in the textbook chapter on the Transformer (docs/sources.md).
TransformerOptions make_chapter_options() {
  TransformerOptions options;
  options.preset = TransformerPreset::kChapter;
  options.encoder_layers = options.decoder_layers = 2;
  options.size = 32;
  options.heads = 4;
  options.feed_forward = 64;
  options.norm_placement = NormPlacement::kPost;
  options.attention_bias = false;
  options.final_norm = false;
  options.tying = Tying::kNone;
  options.dropout = {.embedding = 0.0, .residual = 0.0, .attention = 0.0, .activation = 0.0};
  return options;
}

void check_relative_positions(const TransformerOptions& options, std::string_view caller, std::string_view prefix) {
  if (has_position_vectors(options.positions) || options.positions == PositionKind::kNone) return;
  check(options.score == ScoreKind::kDot, "{}: {}positions is {}, needs {}score=dot", caller, prefix,
        enum_name(options.positions), prefix);
  const std::int64_t head_size = options.size / options.heads;
  check(options.positions != PositionKind::kRotary || head_size % 2 == 0,
        "{}: {}positions is rotary, needs heads of an even size, but {}size / {}heads is {}", caller, prefix, prefix,
        prefix, head_size);
  check(options.rotary.low_frequency < options.rotary.high_frequency,
        "{}: {}rotary.low_frequency is {}, needs less than the {}rotary.high_frequency of {}", caller, prefix,
        options.rotary.low_frequency, prefix, options.rotary.high_frequency);
  if (options.positions != PositionKind::kT5) return;
  check(options.t5_buckets % 2 == 0, "{}: {}t5_buckets is {}, needs an even number", caller, prefix,
        options.t5_buckets);
  check(options.t5_distance > options.t5_buckets / 2,
        "{}: {}t5_distance is {}, needs more than half of {}t5_buckets {}", caller, prefix, options.t5_distance, prefix,
        options.t5_buckets);
}

void check_cross_distance(const TransformerOptions& options, std::string_view caller, std::string_view prefix) {
  if (!options.cross_distance) return;
  check(has_encoder(options.kind), "{}: {}cross_distance is true, needs {}kind=transformer", caller, prefix, prefix);
  check(options.positions == PositionKind::kT5, "{}: {}cross_distance is true, needs {}positions=t5", caller, prefix,
        prefix);
}

void check_mirrored_positions(const TransformerOptions& options, std::string_view caller, std::string_view prefix) {
  if (!options.mirror_positions) return;
  check(has_encoder(options.kind), "{}: {}mirror_positions is true, needs {}kind=transformer or universal", caller,
        prefix, prefix);
  check(has_formula(options.positions) || options.cross_distance,
        "{}: {}mirror_positions is true, needs {}positions with a formula, or {}cross_distance=true", caller, prefix,
        prefix, prefix);
  if (!options.has_mirrored_vectors()) return;
  const std::int64_t smallest = 2 * smallest_position_size(options.positions);
  check(options.size % 2 == 0 && options.size >= smallest,
        "{}: {}size is {}, needs an even number of at least {} with {}mirror_positions", caller, prefix, options.size,
        smallest, prefix);
}

/// Checks the patterns of the encoder or the decoder. `option` is the full name of the side's relation.
void check_patterns(const TransformerOptions& options, const RelationPatterns& patterns, const std::string& option) {
  const bool is_decoder = patterns.direction() == Direction::kCausal;
  const std::int64_t layers = is_decoder ? options.decoder_layers : options.encoder_layers;
  check(static_cast<std::int64_t>(patterns.size()) <= layers,
        "{} has {} patterns, needs at most {}_layers, which is {}", option, patterns.size(),
        is_decoder ? "decoder" : "encoder", layers);
  check(options.kind != ModelKind::kUniversal || patterns.is_default(), "{} is {}, needs {} in a Universal Transformer",
        option, quote(format_terms(patterns.of_layer(0))), is_decoder ? "causal" : "complete");
}

void check_decoder_mixer(const TransformerOptions& options, std::string_view caller, std::string_view prefix) {
  if (!options.has_ssru()) return;
  check(options.kind == ModelKind::kTransformer, "{}: {}decoder_mixer is ssru, needs {}kind=transformer", caller,
        prefix, prefix);
  check(has_position_vectors(options.positions) || options.positions == PositionKind::kNone,
        "{}: {}positions is {}, needs position vectors or none with {}decoder_mixer=ssru", caller, prefix,
        enum_name(options.positions), prefix);
  check(parse_patterns(options.relation, Direction::kCausal, "relation").is_default(),
        "{}: {}relation has patterns, needs causal with {}decoder_mixer=ssru, which reads only the token before",
        caller, prefix, prefix);
}

void check_exits(const TransformerOptions& options, std::string_view caller, std::string_view prefix) {
  const std::vector<std::int64_t>& layers = options.exits.layers;
  if (layers.empty()) return;
  check(options.kind == ModelKind::kTransformer, "{}: {}exits.layers is {}, needs {}kind=transformer", caller, prefix,
        layers, prefix);
  const bool ascend = std::ranges::adjacent_find(layers, std::greater_equal()) == layers.end();
  check(ascend && layers.front() >= 1 && layers.back() < options.decoder_layers,
        "{}: {}exits.layers is {}, needs ascending numbers from 1 to below {}decoder_layers, which is {}", caller,
        prefix, layers, prefix, options.decoder_layers);
  check(!options.exits.can_halt() || !options.has_ssru(),
        "{}: {}exits.threshold is {}, needs 1 with {}decoder_mixer=ssru", caller, prefix, options.exits.threshold,
        prefix);
}

void check_vocabularies(const TransformerOptions& options, std::string_view caller) {
  const auto check_size = [&](std::string_view name, std::int64_t value) {
    check(value >= 1 && value <= std::numeric_limits<std::int32_t>::max(),
          "{}: {} is {}, needs a whole number from 1 to 2147483647", caller, name, value);
  };
  check_size("input_vocabulary", options.input_vocabulary);
  check_size("output_vocabulary", options.output_vocabulary);
  check(has_encoder(options.kind) || options.input_vocabulary == options.output_vocabulary,
        "{}: vocabularies have {} and {} tokens, needs one vocabulary with kind=language_model", caller,
        options.input_vocabulary, options.output_vocabulary);
  check(options.begin_embedding == BeginEmbedding::kLearned ||
            (options.begin_token >= 0 && options.begin_token < options.output_vocabulary),
        "Transformer: begin_token is {}, needs one of the {} tokens of output_vocabulary with begin_embedding=zero",
        options.begin_token, options.output_vocabulary);
}

}  // namespace

TransformerOptions TransformerOptions::from_preset(TransformerPreset preset) {
  switch (preset) {
    case TransformerPreset::kTutorial:
      return {};
    case TransformerPreset::kFromScratch:
      return make_from_scratch_options();
    case TransformerPreset::kChapter:
      return make_chapter_options();
  }
  fail("TransformerOptions::from_preset: preset is {}, needs one of enum_names", static_cast<int>(preset));
}

void check_layer_options(const TransformerOptions& options, std::string_view caller, std::string_view prefix) {
  check_ranges(options, caller, prefix);
  check(options.size % options.heads == 0, "{}: {}heads is {}, needs a divisor of {}size {}", caller, prefix,
        options.heads, prefix, options.size);
  const std::int64_t key_value_heads = options.key_value_heads;
  check(key_value_heads == 0 || options.heads % key_value_heads == 0,
        "{}: {}key_value_heads is {}, needs a divisor of {}heads {}, or 0 for as many", caller, prefix, key_value_heads,
        prefix, options.heads);
  check(options.num_key_value_heads() == options.heads || options.score == ScoreKind::kDot,
        "{}: {}key_value_heads is {}, needs {}score=dot", caller, prefix, key_value_heads, prefix);
  check(!options.log_scale || options.score == ScoreKind::kDot, "{}: {}log_scale is true, needs {}score=dot", caller,
        prefix, prefix);
  check(options.size > 1 || options.norm != NormKind::kStdNorm,
        "{}: {}norm is std_norm, needs a {}size above 1, because std_norm divides by size - 1", caller, prefix, prefix);
  check(options.size >= smallest_position_size(options.positions),
        "{}: {}size is {}, needs at least {} with {}positions={}", caller, prefix, options.size,
        smallest_position_size(options.positions), prefix, enum_name(options.positions));
  check_relative_positions(options, caller, prefix);
  check_cross_distance(options, caller, prefix);
  check_mirrored_positions(options, caller, prefix);
  check_decoder_mixer(options, caller, prefix);
  check_exits(options, caller, prefix);
  check(options.kind != ModelKind::kUniversal || has_formula(options.positions),
        "{}: {}positions is {}, needs a formula with {}kind=universal, whose steps have position vectors too", caller,
        prefix, enum_name(options.positions), prefix);
  check(has_encoder(options.kind) || options.tying != Tying::kAll,
        "{}: {}tying is all, needs none or output with {}kind=language_model, which has no input embedding", caller,
        prefix, prefix);
  for (const Direction side : {Direction::kCausal, Direction::kBoth}) {
    const bool is_decoder = side == Direction::kCausal;
    const std::string option = fmt::format("{}: {}{}", caller, prefix, is_decoder ? "relation" : "encoder_relation");
    check_patterns(options, parse_patterns(is_decoder ? options.relation : options.encoder_relation, side, option),
                   option);
  }
  const UniversalOptions& universal = options.universal;
  check(universal.transition == Transition::kFeedForward || universal.halted_keys == HaltedKeys::kFrozen,
        "{}: {}universal.halted_keys is {}, needs frozen with {}universal.transition=separable_convolution", caller,
        prefix, enum_name(universal.halted_keys), prefix);
}

const TransformerOptions& check_options(const TransformerOptions& options, std::string_view caller) {
  check_layer_options(options, caller);
  check_vocabularies(options, caller);
  check(options.tying != Tying::kAll || options.input_vocabulary == options.output_vocabulary,
        "{}: tying is all with vocabularies of {} and {} words, needs one vocabulary for both sides; tie the output "
        "only, or build one vocabulary",
        caller, options.input_vocabulary, options.output_vocabulary);
  return options;
}

}  // namespace edgewise
