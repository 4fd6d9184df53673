// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "edgewise/graph/batch.h"
#include "edgewise/models/transformer.h"
#include "tests/nn/tensors.h"

namespace edgewise {

/// Returns the options of a preset, with small sizes for fast tests in fp64 and without dropout.
inline TransformerOptions small_options(TransformerPreset preset) {
  TransformerOptions options = TransformerOptions::from_preset(preset);
  options.encoder_layers = options.decoder_layers = 2;
  options.size = 8;
  options.heads = 2;
  options.feed_forward = 12;
  options.input_vocabulary = options.output_vocabulary = 11;
  options.dropout = {.embedding = 0.0, .residual = 0.0, .attention = 0.0, .activation = 0.0};
  return options;
}

inline std::vector<TransformerPreset> all_presets() {
  std::vector<TransformerPreset> presets;
  for (const auto& named : enum_names(TransformerPreset{})) presets.push_back(named.value);
  return presets;
}

/// Returns options of layers that no preset has, each with the name of what it tests.
inline std::vector<std::pair<std::string, TransformerOptions>> options_without_preset() {
  std::vector<std::pair<std::string, TransformerOptions>> all;
  const auto add = [&](const char* name, auto change) {
    change(all.emplace_back(name, small_options(TransformerPreset::kTutorial)).second);
  };
  add("RMS norm before", [](auto& o) { o.norm = NormKind::kRmsNorm; });
  add("RMS norm after", [](auto& o) { o.norm = NormKind::kRmsNorm, o.norm_placement = NormPlacement::kPost; });
  add("gate", [](auto& o) { o.feed_forward_gate = true, o.activation = Activation::kSilu; });
  add("gate by tanh", [](auto& o) { o.feed_forward_gate = true, o.activation = Activation::kGeluTanh; });
  add("no biases", [](auto& o) {
    o.norm_bias = o.attention_bias = o.feed_forward_bias = o.output_bias = false;
    o.feed_forward_gate = true;
  });
  add("mirrored positions", [](auto& o) { o.mirror_positions = true; });
  add("mirrored positions of another formula",
      [](auto& o) { o.mirror_positions = true, o.positions = PositionKind::kFromScratch, o.size = 20; });
  add("scores by logarithms", [](auto& o) { o.log_scale = true; });
  add("bounded scores by logarithms, T5", [](auto& o) {
    o.log_scale = true, o.clamp = 0.3, o.key_value_heads = 1;
    o.positions = PositionKind::kT5, o.t5_buckets = 8, o.t5_distance = 5;
  });
  add("shared layers", [](auto& o) { o.share_layers = true, o.encoder_layers = 3; });
  add("shared layers, norms after, T5", [](auto& o) {
    o.share_layers = true, o.norm_placement = NormPlacement::kPost, o.final_norm = false;
    o.positions = PositionKind::kT5, o.t5_buckets = 8, o.t5_distance = 5;
  });
  add("no positions", [](auto& o) { o.positions = PositionKind::kNone; });
  add("rotary", [](auto& o) { o.positions = PositionKind::kRotary; });
  add("rotary of another base", [](auto& o) { o.positions = PositionKind::kRotary, o.rotary.base = 50.0; });
  add("rotary of divided frequencies", [](auto& o) {
    o.positions = PositionKind::kRotary;
    o.rotary = {.scaling = RotaryScaling::kLinear, .factor = 3};
  });
  add("rotary of divided low frequencies", [](auto& o) {
    o.positions = PositionKind::kRotary, o.size = 32, o.heads = 2;
    o.rotary = {.base = 50, .scaling = RotaryScaling::kLlama3, .factor = 4, .trained_length = 30};
  });
  add("ALiBi", [](auto& o) { o.positions = PositionKind::kAlibi; });
  add("T5", [](auto& o) { o.positions = PositionKind::kT5, o.t5_buckets = 8, o.t5_distance = 5; });
  add("T5 in cross-attention",
      [](auto& o) { o.positions = PositionKind::kT5, o.t5_buckets = 8, o.t5_distance = 5, o.cross_distance = true; });
  add("T5 in cross-attention to mirrored inputs, bounded scores", [](auto& o) {
    o.positions = PositionKind::kT5, o.t5_buckets = 8, o.t5_distance = 5, o.cross_distance = true;
    o.mirror_positions = true, o.clamp = 0.3, o.key_value_heads = 1;
  });
  add("grouped heads", [](auto& o) { o.size = 16, o.heads = 4, o.key_value_heads = 2; });
  add("one head of keys, rotary",
      [](auto& o) { o.size = 24, o.heads = 6, o.key_value_heads = 1, o.positions = PositionKind::kRotary; });
  add("Llama", [](auto& o) {
    o.size = 32, o.heads = 8, o.key_value_heads = 2, o.positions = PositionKind::kRotary;
    o.norm = NormKind::kRmsNorm, o.feed_forward_gate = true, o.activation = Activation::kSilu;
    o.attention_bias = o.feed_forward_bias = o.output_bias = o.scale_embedding = false;
  });
  add("grouped heads, T5", [](auto& o) {
    o.heads = 2, o.key_value_heads = 1, o.positions = PositionKind::kT5, o.t5_buckets = 8, o.t5_distance = 5;
  });
  add("SSRU", [](auto& o) { o.decoder_mixer = DecoderMixer::kSsru; });
  add("SSRU, norms after", [](auto& o) {
    o.decoder_mixer = DecoderMixer::kSsru, o.norm_placement = NormPlacement::kPost, o.final_norm = false, o.size = 20;
  });
  add("norm without bias", [](auto& o) { o.norm_bias = false; });
  return all;
}

inline Transformer small_model(const TransformerOptions& options) { return randomised(Transformer(options, 1)); }

/// Returns pairs with inputs of 4, 1 and 3 tokens, and outputs of 3, 2 and 5 decoder nodes.
inline std::vector<TokenPair> small_pairs() {
  return {{{4, 9, 5, 3}, {2, 7, 6, 3}}, {{8}, {2, 10, 3}}, {{5, 5, 4}, {2, 4, 5, 6, 7, 3}}};
}

inline Batch small_batch() { return make_batch(small_pairs()); }

}  // namespace edgewise
