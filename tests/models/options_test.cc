// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <functional>

#include "edgewise/base/config/config.h"
#include "edgewise/options/transformer_options.h"
#include "tests/models/small_models.h"

namespace edgewise {
namespace {

TEST(TransformerOptions, HaveTheValuesOfTheDocumentForEachPreset) {
  const auto tutorial = TransformerOptions::from_preset(TransformerPreset::kTutorial);
  EXPECT_EQ(tutorial.norm_placement, NormPlacement::kPre);
  EXPECT_EQ(tutorial.norm, NormKind::kLayerNorm);
  EXPECT_TRUE(tutorial.final_norm);
  EXPECT_TRUE(tutorial.attention_bias);
  EXPECT_EQ(tutorial.tying, Tying::kAll);
  EXPECT_EQ(tutorial.positions, PositionKind::kSinusoidal);
  EXPECT_EQ(tutorial.encoder_layers, 6);
  EXPECT_FALSE(tutorial.clamp);

  const auto from_scratch = TransformerOptions::from_preset(TransformerPreset::kFromScratch);
  EXPECT_EQ(from_scratch.norm_placement, NormPlacement::kPre);
  EXPECT_EQ(from_scratch.norm, NormKind::kStdNorm);
  EXPECT_EQ(from_scratch.norm_epsilon, 1e-6);
  EXPECT_TRUE(from_scratch.final_norm);
  EXPECT_TRUE(from_scratch.attention_bias);
  EXPECT_EQ(from_scratch.positions, PositionKind::kFromScratch);
  EXPECT_EQ(from_scratch.tying, Tying::kNone);
  EXPECT_EQ(from_scratch.feed_forward, 2048);
  EXPECT_EQ(from_scratch.dropout.attention, 0.1);
  EXPECT_EQ(from_scratch.dropout.embedding, 0.0);

  const auto chapter = TransformerOptions::from_preset(TransformerPreset::kChapter);
  EXPECT_EQ(chapter.norm_placement, NormPlacement::kPost);
  EXPECT_FALSE(chapter.final_norm);
  EXPECT_FALSE(chapter.attention_bias);
  EXPECT_EQ(chapter.tying, Tying::kNone);
  EXPECT_EQ(chapter.encoder_layers, 2);
  EXPECT_EQ(chapter.decoder_layers, 2);
  EXPECT_EQ(chapter.size, 32);
  EXPECT_EQ(chapter.heads, 4);
  EXPECT_EQ(chapter.feed_forward, 64);
}

TEST(TransformerOptions, SurviveSavingToAConfigAndReadingIt) {
  for (const TransformerPreset preset : all_presets()) {
    TransformerOptions options = TransformerOptions::from_preset(preset);
    EXPECT_EQ(options.preset, preset);
    options.clamp = 5.0;
    options.dropout.activation = 0.25;

    const std::string saved = to_toml(options);

    EXPECT_EQ(to_toml(parse_config<TransformerOptions>(saved, "config.toml")), saved);
  }
}

TEST(TransformerOptions, AreRejectedByErrorsThatNameTheOptionAndItsRange) {
  const auto error_with = [](const std::function<void(TransformerOptions&)>& change) {
    TransformerOptions options = small_options(TransformerPreset::kTutorial);
    change(options);
    return error_of([&] { Transformer(options, 1); });
  };

  EXPECT_EQ(error_with([](auto& o) { o.size = 128, o.heads = 3; }),
            "Transformer: heads is 3, needs a divisor of size 128");
  EXPECT_EQ(error_with([](auto& o) { o.size = 2, o.positions = PositionKind::kFairseq; }),
            "Transformer: size is 2, needs at least 4 with positions=fairseq");
  EXPECT_EQ(error_with([](auto& o) { o.kind = ModelKind::kUniversal, o.positions = PositionKind::kLearned; }),
            "Transformer: positions is learned, needs a formula with kind=universal, whose steps have position vectors "
            "too");
  EXPECT_EQ(error_with([](auto& o) { o.log_scale = true, o.score = ScoreKind::kAdditive; }),
            "Transformer: log_scale is true, needs score=dot");
  EXPECT_EQ(error_with([](auto& o) { o.mirror_positions = true, o.positions = PositionKind::kRotary; }),
            "Transformer: mirror_positions is true, needs positions with a formula, or cross_distance=true");
  EXPECT_EQ(error_with([](auto& o) { o.cross_distance = true, o.positions = PositionKind::kAlibi; }),
            "Transformer: cross_distance is true, needs positions=t5");
  EXPECT_EQ(error_with([](auto& o) { o.cross_distance = true, o.kind = ModelKind::kLanguageModel; }),
            "Transformer: cross_distance is true, needs kind=transformer");
  EXPECT_EQ(error_with([](auto& o) { o.mirror_positions = true, o.size = 6, o.positions = PositionKind::kMarian; }),
            "Transformer: size is 6, needs an even number of at least 8 with mirror_positions");
  EXPECT_EQ(error_with([](auto& o) { o.mirror_positions = true, o.size = 9, o.heads = 3; }),
            "Transformer: size is 9, needs an even number of at least 2 with mirror_positions");
  EXPECT_EQ(error_with([](auto& o) { o.mirror_positions = true, o.kind = ModelKind::kLanguageModel; }),
            "Transformer: mirror_positions is true, needs kind=transformer or universal");
  EXPECT_EQ(error_with([](auto& o) { o.key_value_heads = 3; }),
            "Transformer: key_value_heads is 3, needs a divisor of heads 2, or 0 for as many");
  EXPECT_EQ(error_with([](auto& o) { o.key_value_heads = 1, o.score = ScoreKind::kAdditive; }),
            "Transformer: key_value_heads is 1, needs score=dot");
  EXPECT_EQ(error_with([](auto& o) { o.kind = ModelKind::kUniversal, o.decoder_mixer = DecoderMixer::kSsru; }),
            "Transformer: decoder_mixer is ssru, needs kind=transformer");
  EXPECT_EQ(error_with([](auto& o) { o.positions = PositionKind::kAlibi, o.decoder_mixer = DecoderMixer::kSsru; }),
            "Transformer: positions is alibi, needs position vectors or none with decoder_mixer=ssru");
  EXPECT_EQ(
      error_with([](auto& o) { o.relation = {{"window 3"}}, o.decoder_mixer = DecoderMixer::kSsru; }),
      "Transformer: relation has patterns, needs causal with decoder_mixer=ssru, which reads only the token before");
  EXPECT_EQ(error_with([](auto& o) { o.kind = ModelKind::kUniversal, o.exits.layers = {1}; }),
            "Transformer: exits.layers is [1], needs kind=transformer");
  for (const std::vector<std::int64_t>& layers : {std::vector<std::int64_t>{2}, {1, 1}}) {
    EXPECT_EQ(
        error_with([&](auto& o) { o.exits.layers = layers; }),
        fmt::format("Transformer: exits.layers is {}, needs ascending numbers from 1 to below decoder_layers, which "
                    "is 2",
                    layers));
  }
  EXPECT_EQ(
      error_with([](auto& o) { o.exits = {.layers = {1}, .threshold = 0.5}, o.decoder_mixer = DecoderMixer::kSsru; }),
      "Transformer: exits.threshold is 0.5, needs 1 with decoder_mixer=ssru");
  const auto relative = [](PositionKind kind) {
    return [kind](auto& o) { o.kind = ModelKind::kUniversal, o.positions = kind; };
  };
  EXPECT_EQ(error_with(relative(PositionKind::kRotary)),
            "Transformer: positions is rotary, needs a formula with kind=universal, whose steps have position vectors "
            "too");
  EXPECT_EQ(error_with(relative(PositionKind::kNone)),
            "Transformer: positions is none, needs a formula with kind=universal, whose steps have position vectors "
            "too");
  EXPECT_EQ(error_with([](auto& o) { o.positions = PositionKind::kT5, o.score = ScoreKind::kAdditive; }),
            "Transformer: positions is t5, needs score=dot");
  EXPECT_EQ(error_with([](auto& o) { o.positions = PositionKind::kRotary, o.size = 6, o.heads = 2; }),
            "Transformer: positions is rotary, needs heads of an even size, but size / heads is 3");
  EXPECT_EQ(error_with([](auto& o) { o.positions = PositionKind::kT5, o.t5_buckets = 7; }),
            "Transformer: t5_buckets is 7, needs an even number");
  EXPECT_EQ(error_with([](auto& o) { o.positions = PositionKind::kT5, o.t5_distance = 16; }),
            "Transformer: t5_distance is 16, needs more than half of t5_buckets 32");
  EXPECT_EQ(error_with([](auto& o) { o.max_positions = 1; }),
            "Transformer: max_positions is 1, needs a whole number from 2 to 100000");
  EXPECT_EQ(error_with([](auto& o) { o.size = 0; }), "Transformer: size is 0, needs a whole number from 1 to 65536");
  EXPECT_EQ(error_with([](auto& o) { o.heads = 0; }), "Transformer: heads is 0, needs a whole number from 1 to 65536");
  EXPECT_EQ(error_with([](auto& o) { o.feed_forward = 0; }),
            "Transformer: feed_forward is 0, needs a whole number from 1 to 262144");
  EXPECT_EQ(error_with([](auto& o) { o.encoder_layers = 0; }),
            "Transformer: encoder_layers is 0, needs a whole number from 1 to 1000");
  EXPECT_EQ(error_with([](auto& o) { o.decoder_layers = -1; }),
            "Transformer: decoder_layers is -1, needs a whole number from 1 to 1000");
  EXPECT_EQ(error_with([](auto& o) { o.input_vocabulary = 0; }),
            "Transformer: input_vocabulary is 0, needs a whole number from 1 to 2147483647");
  EXPECT_EQ(error_with([](auto& o) { o.output_vocabulary = 0; }),
            "Transformer: output_vocabulary is 0, needs a whole number from 1 to 2147483647");
  EXPECT_EQ(error_with([](auto& o) { o.kind = ModelKind::kLanguageModel; }),
            "Transformer: tying is all, needs none or output with kind=language_model, which has no input embedding");
  EXPECT_EQ(
      error_with([](auto& o) { o.kind = ModelKind::kLanguageModel, o.tying = Tying::kOutput, o.input_vocabulary = 9; }),
      "Transformer: vocabularies have 9 and 11 tokens, needs one vocabulary with kind=language_model");
  EXPECT_EQ(error_with([](auto& o) { o.output_vocabulary = 9; }),
            "Transformer: tying is all with vocabularies of 11 and 9 words, needs one vocabulary for both sides; tie "
            "the output only, or build one vocabulary");
}

}  // namespace
}  // namespace edgewise
