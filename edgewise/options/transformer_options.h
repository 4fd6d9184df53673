// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "edgewise/base/fields.h"
#include "edgewise/options/layer_options.h"
#include "edgewise/options/universal_options.h"

namespace edgewise {

/// Whose Transformer: each document's choices as a starting point, of which single options can then be changed.
enum class TransformerPreset { kTutorial, kFromScratch, kChapter };

inline constexpr auto enum_names(TransformerPreset) {
  return std::array{EnumName<TransformerPreset>{TransformerPreset::kTutorial, "tutorial"},
                    EnumName<TransformerPreset>{TransformerPreset::kFromScratch, "from_scratch"},
                    EnumName<TransformerPreset>{TransformerPreset::kChapter, "chapter"}};
}

/// Layers that stand behind one another, or one that is applied again and again.
enum class ModelKind { kTransformer, kUniversal };

inline constexpr auto enum_names(ModelKind) {
  return std::array{EnumName<ModelKind>{ModelKind::kTransformer, "transformer"},
                    EnumName<ModelKind>{ModelKind::kUniversal, "universal"}};
}

/// Defaults are the tutorial's.
struct TransformerOptions : LayerOptions {
  TransformerPreset preset = TransformerPreset::kTutorial;
  ModelKind kind = ModelKind::kTransformer;
  std::int64_t encoder_layers = 6;
  std::int64_t decoder_layers = 6;
  bool final_norm = true;
  PositionKind positions = PositionKind::kSinusoidal;
  bool scale_embedding = true;
  EmbeddingInit embedding_init = EmbeddingInit::kXavier;
  Tying tying = Tying::kAll;
  UniversalOptions universal;

  // Known from the vocabularies, not from a config.
  std::int64_t input_vocabulary = 0;
  std::int64_t output_vocabulary = 0;

  /// All of a document's choices; docs/sources.md says where they come from.
  static TransformerOptions of(TransformerPreset preset);

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field("preset", self.preset, "the document whose choices are the defaults of the other options");
    field("kind", self.kind, "transformer, or universal: one layer a side, applied up to as many times as layers say");
    field("encoder_layers", self.encoder_layers, "", at_least(1));
    field("decoder_layers", self.decoder_layers, "", at_least(1));
    LayerOptions::list_fields(self, field);
    field("final_norm", self.final_norm, "whether encoder and decoder end with a norm");
    field("positions", self.positions, "formula of the position vectors");
    field("scale_embedding", self.scale_embedding, "whether word embeddings are multiplied by sqrt(size)");
    field("embedding_init", self.embedding_init, "what word embeddings start from");
    field("tying", self.tying, "which word tables are one: none, output (with the generator), or all three");
    field("universal", self.universal, "how a Universal Transformer's nodes halt");
  }
};

/// The options themselves. Throws Error for the first that does not fit: out of its range, or at odds with another.
const TransformerOptions& checked(const TransformerOptions& options);

}  // namespace edgewise
