// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "edgewise/base/config/fields.h"

// Choices for the layers of a model, with their names in a config file.

namespace edgewise {

/// Place of a sublayer's norm; nn/sublayer.h has the formulas.
enum class NormPlacement { kPre, kPost };

inline constexpr auto enum_names(NormPlacement) {
  return std::array{EnumName{NormPlacement::kPre, "pre"}, EnumName{NormPlacement::kPost, "post"}};
}

enum class NormKind {
  kLayerNorm,  // (x - mean) / sqrt(variance + eps), variance with divisor n (Ba et al. 2016)
  kStdNorm,    // (x - mean) / (deviation + eps), deviation with divisor n - 1: the from-scratch document's Norm
};

inline constexpr auto enum_names(NormKind) {
  return std::array{EnumName{NormKind::kLayerNorm, "layer_norm"}, EnumName{NormKind::kStdNorm, "std_norm"}};
}

/// Returns the norm for the kernels. Formula is kernels::NormFormula, a template parameter because options/ may not
/// include kernels/.
template <class Formula>
Formula norm_formula(NormKind kind, std::int64_t size, double epsilon) {
  const auto features = static_cast<double>(size);
  return kind == NormKind::kLayerNorm ? Formula::layer_norm(features, epsilon) : Formula::std_norm(features, epsilon);
}

enum class Activation {
  kRelu,  // max(x, 0)
  kGelu,  // x * Phi(x), where Phi is the distribution function of the normal distribution
  kSilu,  // x * sigmoid(x), also called swish
};

inline constexpr auto enum_names(Activation) {
  return std::array{EnumName{Activation::kRelu, "relu"}, EnumName{Activation::kGelu, "gelu"},
                    EnumName{Activation::kSilu, "silu"}};
}

/// Attention score of a query and a key.
enum class ScoreKind {
  kDot,       // <query, key> / sqrt(head size)
  kAdditive,  // <vector, tanh(query + key)> (Bahdanau et al. 2015)
};

inline constexpr auto enum_names(ScoreKind) {
  return std::array{EnumName{ScoreKind::kDot, "dot"}, EnumName{ScoreKind::kAdditive, "additive"}};
}

/// Kinds of position vectors: formulas, which positions/position_formula.h defines, and a trained table (kLearned).
enum class PositionKind { kSinusoidal, kFromScratch, kHalves, kMarian, kFairseq, kLearned };

inline constexpr auto enum_names(PositionKind) {
  return std::array{
      EnumName{PositionKind::kSinusoidal, "sinusoidal"}, EnumName{PositionKind::kFromScratch, "from_scratch"},
      EnumName{PositionKind::kHalves, "halves"},         EnumName{PositionKind::kMarian, "marian"},
      EnumName{PositionKind::kFairseq, "fairseq"},       EnumName{PositionKind::kLearned, "learned"}};
}

constexpr bool has_formula(PositionKind kind) { return kind != PositionKind::kLearned; }

/// Returns the smallest size of position vectors: marian and fairseq divide by half - 1.
constexpr std::int64_t smallest_position_size(PositionKind kind) {
  return kind == PositionKind::kMarian || kind == PositionKind::kFairseq ? 4 : 1;
}

/// Sharing of a Transformer's three embedding matrices.
enum class Tying {
  kNone,
  kOutput,  // output embedding and output projection
  kAll,     // input embedding too, which needs one vocabulary for both sides
};

inline constexpr auto enum_names(Tying) {
  return std::array{EnumName{Tying::kNone, "none"}, EnumName{Tying::kOutput, "output"}, EnumName{Tying::kAll, "all"}};
}

/// Embedding of the token that begins outputs.
enum class BeginEmbedding {
  kLearned,
  kZero,  // zeros, which training does not change, as in Marian
};

inline constexpr auto enum_names(BeginEmbedding) {
  return std::array{EnumName{BeginEmbedding::kLearned, "learned"}, EnumName{BeginEmbedding::kZero, "zero"}};
}

/// Initial values of token embeddings.
enum class EmbeddingInit {
  kXavier,  // uniform, scaled by the sizes of the matrix (Glorot and Bengio 2010)
  kNormal,  // normal with standard deviation 1 / sqrt(size), so that vectors have length about 1
};

inline constexpr auto enum_names(EmbeddingInit) {
  return std::array{EnumName{EmbeddingInit::kXavier, "xavier"}, EnumName{EmbeddingInit::kNormal, "normal"}};
}

}  // namespace edgewise
