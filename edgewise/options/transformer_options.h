// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "edgewise/base/config/fields.h"
#include "edgewise/options/exit_options.h"
#include "edgewise/options/layer_options.h"
#include "edgewise/options/relation_patterns.h"
#include "edgewise/options/rotary_options.h"
#include "edgewise/text/vocabulary/sentence_rules.h"

namespace edgewise {

/// The sides with adaptive computation. A node of another side takes as many steps as encoder_layers or
/// decoder_layers says.
enum class AdaptiveSides { kNone, kEncoderOnly, kDecoderOnly, kBoth };

inline constexpr auto enum_names(AdaptiveSides) {
  return names_in_order<AdaptiveSides>("none", "encoder", "decoder", "both");
}

constexpr bool encoder_adapts(AdaptiveSides side) {
  return side == AdaptiveSides::kEncoderOnly || side == AdaptiveSides::kBoth;
}
constexpr bool decoder_adapts(AdaptiveSides side) {
  return side == AdaptiveSides::kDecoderOnly || side == AdaptiveSides::kBoth;
}

/// How active nodes attend to halted nodes.
enum class HaltedKeys {
  kFrozen,   // by keys and values of the halted nodes' last states, without coordinate embeddings
  kDropped,  // not at all
};

inline constexpr auto enum_names(HaltedKeys) { return names_in_order<HaltedKeys>("frozen", "dropped"); }

/// The transition function, which follows attention in each step (Dehghani et al. 2019, section 2.1).
enum class Transition {
  kFeedForward,           // a feed-forward layer on each node alone
  kSeparableConvolution,  // a feed-forward layer after a depthwise convolution over neighbouring tokens
};

inline constexpr auto enum_names(Transition) {
  return names_in_order<Transition>("feed_forward", "separable_convolution");
}

/// Options of a Universal Transformer (Dehghani et al. 2019) with adaptive computation time (Graves 2016).
struct UniversalOptions {
  AdaptiveSides adaptive = AdaptiveSides::kBoth;
  double epsilon = 0.01;
  double halting_bias = 1.0;
  double ponder_weight = 0.01;
  HaltedKeys halted_keys = HaltedKeys::kFrozen;
  Transition transition = Transition::kFeedForward;
  std::int64_t filter_width = 3;
  bool input_injection = false;

  static void list_fields(auto& self, auto&& field) {
    field("adaptive", self.adaptive,
          "sides with adaptive computation; nodes of the other sides take encoder_layers or decoder_layers steps");
    field("epsilon", self.epsilon, "a node halts once its halting probabilities sum to 1 - epsilon",
          at_least(1e-9).at_most(0.999));
    field("halting_bias", self.halting_bias,
          "initial bias of the halting units: with 1 nodes first halt in the second step, with -3 hardly ever",
          at_least(-100).at_most(100));
    field("ponder_weight", self.ponder_weight,
          "weight of the ponder cost (mean over nodes of steps + remainder) in the training loss",
          at_least(0).at_most(1000));
    field("halted_keys", self.halted_keys,
          "attention to halted nodes: frozen (by keys and values of their last states) or dropped (none)");
    field("transition", self.transition,
          "layer after attention in each step: feed_forward, or separable_convolution, which also mixes neighbouring "
          "tokens and needs halted_keys frozen");
    field("filter_width", self.filter_width,
          "width of the separable convolution, in tokens: centred on the token in the encoder, ending with it in the "
          "decoder",
          at_least(1).at_most(255));
    field(
        "input_injection", self.input_injection,
        "add token embeddings to the states before each step, not before the first one only, so that many steps do not "
        "forget the tokens");
  }
};

/// Documents that describe a Transformer; docs/sources.md lists them. A preset sets the defaults of the other options.
enum class TransformerPreset { kTutorial, kFromScratch, kChapter };

inline constexpr auto enum_names(TransformerPreset) {
  return names_in_order<TransformerPreset>("tutorial", "from_scratch", "chapter");
}

enum class ModelKind {
  kTransformer,    // an encoder and a decoder, each a stack of different layers
  kUniversal,      // an encoder and a decoder, each one layer that is applied repeatedly
  kLanguageModel,  // a decoder without an encoder: a stack of different layers
};

inline constexpr auto enum_names(ModelKind) {
  return names_in_order<ModelKind>("transformer", "universal", "language_model");
}

/// Returns the name of a kind of model in messages, such as "Universal Transformer".
constexpr std::string_view model_name(ModelKind kind) {
  switch (kind) {
    case ModelKind::kTransformer:
      break;
    case ModelKind::kUniversal:
      return "Universal Transformer";
    case ModelKind::kLanguageModel:
      return "language model";
  }
  return "Transformer";
}

constexpr bool has_encoder(ModelKind kind) { return kind != ModelKind::kLanguageModel; }

/// Options of a model. Defaults are those of the tutorial preset.
struct TransformerOptions : LayerOptions {
  TransformerPreset preset = TransformerPreset::kTutorial;
  ModelKind kind = ModelKind::kTransformer;
  std::int64_t encoder_layers = 6;
  std::int64_t decoder_layers = 6;
  bool share_layers = false;
  StringLists relation = {{"causal"}};
  StringLists encoder_relation = {{"complete"}};
  bool final_norm = true;
  PositionKind positions = PositionKind::kSinusoidal;
  std::int64_t max_positions = 512;
  bool mirror_positions = false;
  RotaryOptions rotary;
  std::int64_t t5_buckets = 32;
  std::int64_t t5_distance = 128;
  bool cross_distance = false;
  bool scale_embedding = true;
  EmbeddingInit embedding_init = EmbeddingInit::kXavier;
  BeginEmbedding begin_embedding = BeginEmbedding::kLearned;
  Tying tying = Tying::kAll;
  bool output_bias = true;
  ExitOptions exits;
  UniversalOptions universal;

  // Sizes of the vocabularies and the token that begins outputs, which are not in a config file.
  std::int64_t input_vocabulary = 0;
  std::int64_t output_vocabulary = 0;
  std::int64_t begin_token = SpecialTokens().begin;

  /// Returns the options of a preset; docs/sources.md gives their origin.
  static TransformerOptions from_preset(TransformerPreset preset);

  /// Returns the rows of each table of learned positions; 0 for positions by a formula.
  std::int64_t num_learned_positions() const { return positions == PositionKind::kLearned ? max_positions : 0; }

  /// Returns the number of encoder layers, 0 for a language model.
  std::int64_t num_encoder_layers() const { return has_encoder(kind) ? encoder_layers : 0; }

  /// Returns whether position vectors of inputs have a half for the mirrored input.
  bool has_mirrored_vectors() const { return mirror_positions && has_formula(positions); }

  /// Returns how many of a side's `layers` have parameters of their own.
  std::int64_t num_own_layers(std::int64_t layers) const {
    return kind == ModelKind::kUniversal || share_layers ? std::min<std::int64_t>(layers, 1) : layers;
  }

  /// Returns whether self-attention of a decoder layer, counted from 0, has a product for queries alone in translating:
  /// tokens may have halted before this layer, or before another one with its parameters.
  bool has_separate_queries(std::int64_t layer) const {
    return exits.can_halt() && (share_layers || layer >= exits.layers.front());
  }

  /// Returns whether the first sublayer of a decoder layer is an SSRU.
  bool has_ssru() const { return decoder_mixer == DecoderMixer::kSsru; }

  /// Return the patterns of a side's self-attention. Throw Error for texts that are no patterns. An SSRU has the
  /// pattern `window 2`: the path along the output, and the token itself.
  RelationPatterns decoder_patterns() const {
    return has_ssru() ? RelationPatterns(Direction::kCausal, {{{.kind = TermKind::kWindow, .size = 2}}})
                      : parse_patterns(relation, Direction::kCausal, "model.relation");
  }
  RelationPatterns encoder_patterns() const {
    return parse_patterns(encoder_relation, Direction::kBoth, "model.encoder_relation");
  }

  /// Returns the name of the parameter whose rows are the embeddings of output tokens.
  std::string_view output_embedding_name() const {
    return tying == Tying::kAll ? "input_embedding.weight" : "output_embedding.weight";
  }

  static void list_fields(auto& self, auto&& field) {
    field("preset", self.preset, "document whose choices are the defaults of the other model options");
    field(
        "kind", self.kind,
        "transformer; universal: one layer on each side, applied repeatedly; or language_model: a decoder alone, which "
        "predicts each token of a text from the tokens before it");
    field("encoder_layers", self.encoder_layers,
          "number of encoder layers; for universal the most steps of the encoder", at_least(1).at_most(1000));
    field("decoder_layers", self.decoder_layers,
          "number of decoder layers; for universal the most steps of the decoder", at_least(1).at_most(1000));
    field("share_layers", self.share_layers,
          "give the layers of a side the same parameters: one layer, applied encoder_layers or decoder_layers times");
    field(
        "relation", self.relation,
        "earlier tokens that a token of the decoder attends to: causal (all), or a list of terms, of which any may "
        "permit a token: window N, sinks N, dilated N by S, global every N, blocks N, random N; a list of lists gives "
        "each layer its terms, and begins anew after the last list");
    field("encoder_relation", self.encoder_relation,
          "tokens that a token of the encoder attends to: complete (all), or terms as in relation, which permit later "
          "tokens, too: window N is N tokens to each side");
    LayerOptions::list_fields(self, field);
    field("final_norm", self.final_norm, "apply a norm to the outputs of encoder and decoder");
    field("positions", self.positions,
          "position vectors: a formula (sinusoidal, from_scratch, halves, marian or fairseq), or learned, a trained "
          "table for each side; or relative positions in self-attention: rotary, alibi or t5; or none");
    field("max_positions", self.max_positions,
          "number of learned positions: most tokens of an input with its end token, or of an output with its begin "
          "token",
          at_least(2).at_most(100'000));
    field("mirror_positions", self.mirror_positions,
          "give half of an input's position vectors to the places in the mirrored input, counted from its end token: a "
          "model that copies long sequences can reverse them, too; with cross_distance, cross-attention reads these "
          "places instead");
    field("cross_distance", self.cross_distance,
          "t5: cross-attention, too, adds trained numbers to scores, by the distance between the places of an output "
          "and an input token");
    field("rotary", self.rotary, "frequencies of rotary positions");
    field("t5_buckets", self.t5_buckets, "number of t5's buckets of distances; an even number",
          at_least(4).at_most(4096));
    field("t5_distance", self.t5_distance, "distance from which on all distances share t5's last bucket",
          at_least(3).at_most(100'000));
    field("scale_embedding", self.scale_embedding, "multiply token embeddings by sqrt(size)");
    field("embedding_init", self.embedding_init, "initial values of the token embeddings: xavier (uniform) or normal");
    field("begin_embedding", self.begin_embedding,
          "embedding of the token that begins outputs: learned, or zero, which training keeps at 0; Marian needs zero");
    field("tying", self.tying,
          "sharing of the embedding matrices: none, output (output embedding and output projection), or all (input "
          "embedding too, which a language model does not have)");
    field("output_bias", self.output_bias, "give the output projection a bias: a number for each token");
    field("exits", self.exits, "exits of the decoder before its last layer");
    field("universal", self.universal, "adaptive computation time of a Universal Transformer");
  }
};

/// Throws Error for the first option, except those that are not in a config file, that is out of range or contradicts
/// another. The message begins with `caller`; `prefix` is the section of `options` in a config, such as "model.".
void check_layer_options(const TransformerOptions& options, std::string_view caller, std::string_view prefix = "");

/// Returns the options. Throws Error, beginning with `caller`, for the first option that is out of range or contradicts
/// another.
const TransformerOptions& check_options(const TransformerOptions& options, std::string_view caller = "Transformer");

/// The end of an error about a file whose tensors are not those of a model.
inline constexpr std::string_view kNeedsTensorsOfConfig =
    "needs exactly the tensors that the config describes; use the config and the file of one training";

}  // namespace edgewise
