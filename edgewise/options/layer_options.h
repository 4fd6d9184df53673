// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "edgewise/base/config/fields.h"

// Choices for the layers of a model, with their names in a config file.

namespace edgewise {

/// Number format of matrix products in training. Stored parameters, norms, softmax and loss are always fp32.
enum class Precision { kFp32, kBf16 };

inline constexpr auto enum_names(Precision) { return names_in_order<Precision>("fp32", "bf16"); }

/// Number format of matrix products in translating. Without gradients, 8-bit integers are precise enough too.
enum class RuntimePrecision { kFp32, kBf16, kInt8 };

inline constexpr auto enum_names(RuntimePrecision) { return names_in_order<RuntimePrecision>("fp32", "bf16", "int8"); }

/// Number format to which training rounds the factors of matrix products, with gradients as if they were not rounded,
/// so that a model learns what translating in this format computes.
enum class ProductRounding { kNone, kInt8 };

inline constexpr auto enum_names(ProductRounding) { return names_in_order<ProductRounding>("none", "int8"); }

/// Place of a sublayer's norm; nn/sublayer.h has the formulas.
enum class NormPlacement { kPre, kPost };

inline constexpr auto enum_names(NormPlacement) { return names_in_order<NormPlacement>("pre", "post"); }

enum class NormKind {
  kLayerNorm,  // (x - mean) / sqrt(variance + eps), variance with divisor n (Ba et al. 2016)
  kStdNorm,    // (x - mean) / (deviation + eps), deviation with divisor n - 1: the from-scratch document's Norm
  kRmsNorm,    // x / sqrt(mean of x^2 + eps), without a bias (Zhang and Sennrich 2019)
};

inline constexpr auto enum_names(NormKind) { return names_in_order<NormKind>("layer_norm", "std_norm", "rms_norm"); }

/// Returns the norm for the kernels. Formula is kernels::NormFormula, a template parameter because options/ may not
/// include kernels/.
template <class Formula>
Formula norm_formula(NormKind kind, std::int64_t size, double epsilon) {
  const auto features = static_cast<double>(size);
  if (kind == NormKind::kRmsNorm) return Formula::rms_norm(features, epsilon);
  return kind == NormKind::kLayerNorm ? Formula::layer_norm(features, epsilon) : Formula::std_norm(features, epsilon);
}

enum class Activation {
  kRelu,      // max(x, 0)
  kGelu,      // x * Phi(x), where Phi is the distribution function of the normal distribution
  kSilu,      // x * sigmoid(x), also called swish
  kGeluTanh,  // GELU with 0.5 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) for Phi(x), as in GPT-2
};

inline constexpr auto enum_names(Activation) { return names_in_order<Activation>("relu", "gelu", "silu", "gelu_tanh"); }

/// Attention score of a query and a key.
enum class ScoreKind {
  kDot,       // <query, key> / sqrt(head size)
  kAdditive,  // <vector, tanh(query + key)> (Bahdanau et al. 2015)
};

inline constexpr auto enum_names(ScoreKind) { return names_in_order<ScoreKind>("dot", "additive"); }

/// The first sublayer of a decoder layer, by which a token reads the tokens before it.
enum class DecoderMixer {
  kAttention,  // self-attention
  kSsru,       // a simpler simple recurrent unit (Kim et al. 2019; nn/ssru.h), a recurrence along the output
};

inline constexpr auto enum_names(DecoderMixer) { return names_in_order<DecoderMixer>("attention", "ssru"); }

/// How a model knows the positions of tokens. Position vectors are added to embeddings: those of a formula, which
/// positions/position_formula.h defines, or the rows of a trained table (kLearned). Relative positions act in
/// self-attention, and depend on differences of positions alone.
enum class PositionKind {
  kSinusoidal,
  kFromScratch,
  kHalves,
  kMarian,
  kFairseq,
  kLearned,
  kNone,    // not at all, but by which tokens attend to which
  kRotary,  // queries and keys are turned by angles (Su et al. 2021; ops/rotate.h)
  kAlibi,   // scores fall with the distance, at a slope of the head (Press et al. 2022)
  kT5,      // a trained number is added to scores, by the head and the distance's bucket (Raffel et al. 2020)
};

inline constexpr auto enum_names(PositionKind) {
  return names_in_order<PositionKind>("sinusoidal", "from_scratch", "halves", "marian", "fairseq", "learned", "none",
                                      "rotary", "alibi", "t5");
}

constexpr bool has_formula(PositionKind kind) { return kind < PositionKind::kLearned; }
constexpr bool has_position_vectors(PositionKind kind) { return kind <= PositionKind::kLearned; }
constexpr bool has_score_bias(PositionKind kind) { return kind == PositionKind::kAlibi || kind == PositionKind::kT5; }

/// The base of the frequencies of the formulas.
inline constexpr double kPositionBase = 10000.0;

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

inline constexpr auto enum_names(Tying) { return names_in_order<Tying>("none", "output", "all"); }

/// Embedding of the token that begins outputs.
enum class BeginEmbedding {
  kLearned,
  kZero,  // zeros, which training does not change, as in Marian
};

inline constexpr auto enum_names(BeginEmbedding) { return names_in_order<BeginEmbedding>("learned", "zero"); }

/// Initial values of token embeddings.
enum class EmbeddingInit {
  kXavier,  // uniform, scaled by the sizes of the matrix (Glorot and Bengio 2010)
  kNormal,  // normal with standard deviation 1 / sqrt(size), so that vectors have length about 1
};

inline constexpr auto enum_names(EmbeddingInit) { return names_in_order<EmbeddingInit>("xavier", "normal"); }

/// Dropout rates: shares of values that training sets to zero.
struct DropoutRates {
  double embedding = 0.1;
  double residual = 0.1;
  double attention = 0.0;
  double activation = 0.1;
  double word = 0.0;

  static void list_fields(auto& self, auto&& field) {
    const Range share = at_least(0).at_most(0.999);
    field("embedding", self.embedding, "dropout rate of the sum of token embedding and position vector", share);
    field("residual", self.residual, "dropout rate of the output of each sublayer, before the residual sum", share);
    field("attention", self.attention, "dropout rate of attention weights", share);
    field("activation", self.activation, "dropout rate of the inner activations of feed-forward layers", share);
    field("word", self.word, "share of tokens, on both sides, whose whole embedding is dropped; position vectors stay",
          share);
  }
};

/// Options that all layers of a model share.
struct LayerOptions {
  std::int64_t size = 512;
  std::int64_t heads = 8;
  std::int64_t key_value_heads = 0;
  std::int64_t feed_forward = 2048;
  DecoderMixer decoder_mixer = DecoderMixer::kAttention;
  NormPlacement norm_placement = NormPlacement::kPre;
  NormKind norm = NormKind::kLayerNorm;
  double norm_epsilon = 1e-5;
  bool norm_bias = true;
  bool attention_bias = true;
  ScoreKind score = ScoreKind::kDot;
  std::optional<double> clamp;
  bool log_scale = false;
  Activation activation = Activation::kRelu;
  bool feed_forward_gate = false;
  bool feed_forward_bias = true;
  DropoutRates dropout;

  std::int64_t head_size() const { return size / heads; }

  /// Returns the number of heads of keys and values, and the size of all of them together.
  std::int64_t num_key_value_heads() const { return key_value_heads == 0 ? heads : key_value_heads; }
  std::int64_t key_value_size() const { return num_key_value_heads() * head_size(); }

  /// Returns whether norms have a bias vector.
  bool has_norm_bias() const { return norm_bias && norm != NormKind::kRmsNorm; }

  static void list_fields(auto& self, auto&& field) {
    field("size", self.size, "size of a state vector (model dimension); a multiple of heads",
          at_least(1).at_most(65536));
    field("heads", self.heads, "number of heads of each attention layer", at_least(1).at_most(65536));
    field("key_value_heads", self.key_value_heads,
          "number of heads of keys and values in each attention layer, which divides heads: heads / key_value_heads "
          "heads of queries share a head of keys and values; 0: as many as heads",
          at_least(0).at_most(65536));
    field("feed_forward", self.feed_forward, "inner size of feed-forward layers", at_least(1).at_most(262144));
    field(
        "decoder_mixer", self.decoder_mixer,
        "how a token of the decoder reads the tokens before it: attention, or ssru, a recurrence that keeps one vector "
        "for each layer instead of keys and values of all tokens, which makes translating faster");
    field("norm_placement", self.norm_placement,
          "place of the norms: pre (before each sublayer) or post (after the residual sum)");
    field("norm", self.norm,
          "formula of the norms: layer_norm divides by sqrt(variance + epsilon), std_norm by (standard deviation + "
          "epsilon), rms_norm by sqrt(mean square + epsilon) without subtracting the mean");
    field("norm_epsilon", self.norm_epsilon, "epsilon of the norms, which prevents division by zero",
          at_least(1e-12).at_most(1));
    field("norm_bias", self.norm_bias, "give norms a bias vector beside their gain; rms_norm never has one");
    field("attention_bias", self.attention_bias,
          "give bias vectors to the query, key, value and output projections of attention");
    field("score", self.score, "attention score of a query and a key: dot (scaled dot product) or additive");
    field("clamp", self.clamp,
          "largest absolute value of attention scores, as in the graph tutorial; by default no limit",
          at_least(0.001).at_most(1e6));
    field(
        "log_scale", self.log_scale,
        "multiply attention scores by the logarithm of the number of tokens that a token attends to, so that attention "
        "stays sharp in sequences longer than those of training");
    field("activation", self.activation,
          "activation function between the two linear layers of feed-forward layers: relu, gelu (exact), silu or "
          "gelu_tanh (GELU by tanh)");
    field("feed_forward_gate", self.feed_forward_gate,
          "multiply the inner values of feed-forward layers by a gate: activation(gate(x)) * inner(x), which is SwiGLU "
          "with silu and GEGLU with gelu");
    field("feed_forward_bias", self.feed_forward_bias, "give bias vectors to the linear layers of feed-forward layers");
    field("dropout", self.dropout, "dropout rates, used only in training");
  }
};

}  // namespace edgewise
