// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "edgewise/graph/relation.h"
#include "edgewise/message/message_graph.h"
#include "edgewise/nn/embedding.h"
#include "edgewise/nn/linear.h"
#include "edgewise/nn/module.h"
#include "edgewise/ops/score.h"
#include "edgewise/options/layer_options.h"

// Shapes: N = nodes, D = destinations, S = sources, E = edges, I = input size, H = heads, K = head size, V = size of a
// head's value, O = output size, G = heads of keys and values.
namespace edgewise {

/// Records attention weights: during its lifetime, every MultiHeadAttention that runs on the recorder's thread calls
/// the callback. At most one recorder per thread exists at a time. Because recorders are thread-local, layers need no
/// argument that only drawings of attention would use.
class AttentionRecorder {
 public:
  /// Computes the attention weights before dropout: those of a head, [E, 1], or of all heads, [E, H], for -1.
  using Weights = std::function<at::Tensor(std::int64_t head)>;

  using Callback = std::function<void(const Relation& relation, const Weights& weights)>;

  explicit AttentionRecorder(Callback callback);
  AttentionRecorder(const AttentionRecorder&) = delete;
  AttentionRecorder& operator=(const AttentionRecorder&) = delete;
  ~AttentionRecorder();

  /// Returns the callback of this thread's recorder, or null without a recorder.
  static const Callback* current();

 private:
  Callback callback_;
};

/// A set of the three projections of a node's state: query, key and value.
enum class AttentionFields : unsigned { kQuery = 1, kKey = 2, kValue = 4, kKeyValue = 6, kAll = 7 };

constexpr AttentionFields operator|(AttentionFields a, AttentionFields b) {
  return static_cast<AttentionFields>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr AttentionFields operator&(AttentionFields a, AttentionFields b) {
  return static_cast<AttentionFields>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
constexpr bool contains(AttentionFields fields, AttentionFields field) { return (fields & field) == field; }

/// Result of MultiHeadAttention::get; a field that was not selected is undefined.
struct Projections {
  at::Tensor query;  // [N, H, K]
  at::Tensor key;    // [N, G, K]
  at::Tensor value;  // [N, G, V]

  std::int64_t group_size = 1;  // H / G, the heads that share a head of keys and values

  /// Returns the defined fields as node columns "q", "k" and "v", with keys and values for each head.
  Columns columns() const;
};

/// The positions of nodes, as attention reads them (nn/relative_positions.h); by default not at all.
struct SelfPositions {
  PositionRows rotation;           // turns queries and keys (ops/rotate.h); a table for each node's head
  std::optional<Score> bias = {};  // added to the scaled, clamped dot product
};

/// The edges of an attention, and what it reads of positions. Both must outlive this object.
struct AttentionEdges {
  // NOLINTNEXTLINE(google-explicit-constructor): edges alone have no positions
  AttentionEdges(const Relation& edges) : AttentionEdges(edges, kNoPositions) {}
  AttentionEdges(const Relation& edges, const SelfPositions& self_positions)
      : relation(edges), positions(self_positions) {}

  static const SelfPositions kNoPositions;

  const Relation& relation;
  const SelfPositions& positions;
};

/// Turns the queries and keys that are defined.
Projections rotate(Projections projections, const PositionRows& rotation);

struct MultiHeadAttentionOptions {
  std::int64_t input_size = 512;
  std::int64_t heads = 8;
  std::int64_t key_heads = 0;  // G, heads of keys and values, a divisor of heads; 0: heads
  std::int64_t head_size = 64;
  std::int64_t value_size = 64;
  std::int64_t output_size = 512;
  Bias bias = Bias::kZero;
  ScoreKind score = ScoreKind::kDot;
  std::optional<double> clamp = {};
  bool log_scale = false;  // whether a dot product is multiplied by ln(edges into its destination)
  double dropout = 0.0;    // rate for attention weights

  /// Sets input and output to `size`, heads to size / heads. Throws Error unless `heads` divides `size`.
  static MultiHeadAttentionOptions even(std::int64_t size, std::int64_t heads);
  static MultiHeadAttentionOptions from_layer(const LayerOptions& layer);

  std::int64_t num_key_heads() const { return key_heads == 0 ? heads : key_heads; }
};

/// Multi-head attention (Vaswani et al. 2017, section 3.2.2). For each destination d,
///
///     out[d] = output(concatenation over heads of: sum over the edges (s, d) of weight[s, d] * value[s])
///
/// where weight is the softmax of the scores of the edges into d. H / G heads share a head of keys and values (Ainslie
/// et al. 2023): head h has number h / (H / G). With log_scale, the weight of one edge among many does not fall with
/// their number (Chiang and Cholak 2022, "Overcoming a theoretical limitation of self-attention"). operator() computes
/// the whole layer. Its parts are `get`, then `average` or message passing (message_attention.h), then `get_o`; the
/// names are the graph tutorial's.
struct MultiHeadAttention {
  MultiHeadAttentionOptions options;
  Linear query;             // I to H · K
  Linear key;               // I to G · K
  Linear value;             // I to G · V
  Linear output;            // H · V to O
  at::Tensor score_vector;  // [H, K]; undefined unless scores are additive

  MultiHeadAttention() = default;
  MultiHeadAttention(const MultiHeadAttentionOptions& attention_options, RandomStream& random);

  /// Projects states to the selected fields, split into heads.
  Projections get(const at::Tensor& x_NI, AttentionFields fields = AttentionFields::kAll) const;

  /// Averages the values at each destination by attention weight: [D, H, V]. A destination without edges gets zeros.
  /// `bias` is added to scores, which must be dot products.
  at::Tensor average(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SGK,
                     const at::Tensor& value_SGV, Pass& pass, const std::optional<Score>& bias = {}) const;

  /// Projects states, and averages along the edges of self-attention: [N, H, V].
  at::Tensor average_self(const AttentionEdges& edges, const at::Tensor& x_NI, Pass& pass) const;

  /// Applies the output projection to the concatenated heads: [D, H, V] to [D, O].
  at::Tensor get_o(const at::Tensor& average_DHV) const;

  /// Computes the whole layer: [D, O]. Self-attention passes one tensor as both states.
  at::Tensor operator()(const Relation& relation, const at::Tensor& destination_DI, const at::Tensor& source_SI,
                        Pass& pass) const;

  /// Returns the attention weights before dropout: [E, H].
  at::Tensor weights(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SGK,
                     const std::optional<Score>& bias = {}) const;

  /// Returns the weights of a head alone, [E, 1]. Throws Error for a head that the layer does not have.
  at::Tensor head_weights(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SGK,
                          std::int64_t head) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("query", self.query);
    part("key", self.key);
    part("value", self.value);
    part("output", self.output);
    part("score_vector", self.score_vector);
  }
};

/// Computes self-attention without parameters, softmax(X Xᵀ) X over the edges of the relation, with unscaled dot
/// products: [N, I]. The from-scratch note (docs/sources.md) begins with this function.
at::Tensor self_attention(const Relation& relation, const at::Tensor& x_NI);

}  // namespace edgewise
