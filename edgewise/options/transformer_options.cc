// SPDX-License-Identifier: Apache-2.0
#include "edgewise/options/transformer_options.h"

#include "edgewise/base/error.h"

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

// Checks sizes and counts, on which memory and loops depend. The config reader checks the floating-point options.
void check_sizes(const TransformerOptions& options) {
  const auto check_at_least_one = [](std::string_view name, std::int64_t value) {
    check(value >= 1, "Transformer: {} is {}, needs at least 1", name, value);
  };
  check_at_least_one("encoder_layers", options.encoder_layers);
  check_at_least_one("decoder_layers", options.decoder_layers);
  check_at_least_one("size", options.size);
  check_at_least_one("heads", options.heads);
  check_at_least_one("feed_forward", options.feed_forward);
  check_at_least_one("input_vocabulary", options.input_vocabulary);
  check_at_least_one("output_vocabulary", options.output_vocabulary);
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

const TransformerOptions& check_options(const TransformerOptions& options) {
  check_sizes(options);
  check(options.size % options.heads == 0, "Transformer: heads is {}, needs a divisor of size {}", options.heads,
        options.size);
  check(options.tying != Tying::kAll || options.input_vocabulary == options.output_vocabulary,
        "Transformer: tying is all with vocabularies of {} and {} words, needs one vocabulary for both sides; tie the "
        "output only, or build one vocabulary",
        options.input_vocabulary, options.output_vocabulary);
  const UniversalOptions& universal = options.universal;
  check(universal.transition == Transition::kFeedForward || universal.halted_keys == HaltedKeys::kFrozen,
        "Transformer: transition is separable_convolution with halted_keys {}, needs them frozen",
        enum_name(universal.halted_keys));
  check(universal.filter_width >= 1, "Transformer: filter_width is {}, needs at least 1", universal.filter_width);
  return options;
}

}  // namespace edgewise
