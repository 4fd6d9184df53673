// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "edgewise/base/fields.h"

// What layers can be told, with the names that a config calls it by.

namespace edgewise {

/// Where a sublayer's norm stands; sublayer.h has the formulas.
enum class NormPlacement { kPre, kPost };

inline constexpr auto enum_names(NormPlacement) {
  return std::array{EnumName<NormPlacement>{NormPlacement::kPre, "pre"},
                    EnumName<NormPlacement>{NormPlacement::kPost, "post"}};
}

enum class NormKind {
  kLayerNorm,  // (x - mean) / sqrt(variance + eps), variance over n (Ba et al. 2016)
  kStdNorm,    // (x - mean) / (deviation + eps), deviation over n - 1: the from-scratch document's Norm
};

inline constexpr auto enum_names(NormKind) {
  return std::array{EnumName<NormKind>{NormKind::kLayerNorm, "layer_norm"},
                    EnumName<NormKind>{NormKind::kStdNorm, "std_norm"}};
}

enum class Activation { kRelu, kGelu };

inline constexpr auto enum_names(Activation) {
  return std::array{EnumName<Activation>{Activation::kRelu, "relu"}, EnumName<Activation>{Activation::kGelu, "gelu"}};
}

/// How well a key answers a query.
enum class ScoreKind {
  kDot,       // <query, key> / sqrt(head size)
  kAdditive,  // <vector, tanh(query + key)> (Bahdanau et al. 2015)
};

inline constexpr auto enum_names(ScoreKind) {
  return std::array{EnumName<ScoreKind>{ScoreKind::kDot, "dot"}, EnumName<ScoreKind>{ScoreKind::kAdditive, "additive"}};
}

/// How a position becomes a vector; positions.h has the formulas.
enum class PositionKind { kSinusoidal, kFromScratch };

inline constexpr auto enum_names(PositionKind) {
  return std::array{EnumName<PositionKind>{PositionKind::kSinusoidal, "sinusoidal"},
                    EnumName<PositionKind>{PositionKind::kFromScratch, "from_scratch"}};
}

/// Which of a Transformer's three word tables are one tensor.
enum class Tying {
  kNone,
  kOutput,  // output embedding and generator
  kAll,     // input embedding, output embedding and generator: one vocabulary for both sides
};

inline constexpr auto enum_names(Tying) {
  return std::array{EnumName<Tying>{Tying::kNone, "none"}, EnumName<Tying>{Tying::kOutput, "output"},
                    EnumName<Tying>{Tying::kAll, "all"}};
}

/// What a word table starts from.
enum class EmbeddingInit {
  kXavier,  // uniform, by the sizes of the table (Glorot and Bengio 2010)
  kNormal,  // normal with deviation 1 / sqrt(size): of length about 1 whatever the vocabulary
};

inline constexpr auto enum_names(EmbeddingInit) {
  return std::array{EnumName<EmbeddingInit>{EmbeddingInit::kXavier, "xavier"},
                    EnumName<EmbeddingInit>{EmbeddingInit::kNormal, "normal"}};
}

}  // namespace edgewise
