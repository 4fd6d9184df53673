// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "edgewise/graph/relation.h"
#include "edgewise/message/message_graph.h"
#include "edgewise/nn/linear.h"
#include "edgewise/nn/module.h"
#include "edgewise/options/layer_options.h"

// Shapes: N = nodes, D = destinations, S = sources, E = edges, I = input size, H = heads, K = head size, V = size of a
// head's value, O = output size.

namespace edgewise {

/// Some of the three things that attention makes of a node's state.
enum class AttentionFields : unsigned { kQuery = 1, kKey = 2, kValue = 4, kKeyValue = 6, kAll = 7 };

constexpr AttentionFields operator|(AttentionFields a, AttentionFields b) {
  return static_cast<AttentionFields>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr AttentionFields operator&(AttentionFields a, AttentionFields b) {
  return static_cast<AttentionFields>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
constexpr bool contains(AttentionFields fields, AttentionFields field) { return (fields & field) == field; }

/// What MultiHeadAttention::get returns; those not asked for are undefined.
struct Projections {
  at::Tensor query;  // [N, H, K]
  at::Tensor key;    // [N, H, K]
  at::Tensor value;  // [N, H, V]

  /// Those that are defined, as node columns "q", "k" and "v".
  Columns columns() const;
};

struct MultiHeadAttentionOptions {
  std::int64_t input_size = 512;
  std::int64_t heads = 8;
  std::int64_t head_size = 64;
  std::int64_t value_size = 64;
  std::int64_t output_size = 512;
  Bias bias = Bias::kZero;
  ScoreKind score = ScoreKind::kDot;
  std::optional<double> clamp;
  double dropout = 0.0;  // of weights

  /// Heads that share `size` evenly: size to size. Throws Error when it cannot be shared so.
  static MultiHeadAttentionOptions even(std::int64_t size, std::int64_t heads);
  static MultiHeadAttentionOptions of(const LayerOptions& layer);
};

/// Attention with several heads, each an attention of its own over the same edges (Vaswani et al. 2017, section 3.2.2).
///
///     out[d] = output(concat over heads of: average over the edges into d, by softmaxed score, of value[s])
///
/// It can be had whole, or in its parts: `get`, then `average` or message passing (message_attention.h), then `get_o`.
struct MultiHeadAttention {
  MultiHeadAttentionOptions options;
  Linear query;             // I to H · K
  Linear key;               // I to H · K
  Linear value;             // I to H · V
  Linear output;            // H · V to O
  at::Tensor score_vector;  // [H, K], of additive scores only

  MultiHeadAttention() = default;
  MultiHeadAttention(const MultiHeadAttentionOptions& attention_options, RandomStream& random);

  /// Projects states to what attention needs of them, split into heads.
  Projections get(const at::Tensor& x_NI, AttentionFields fields = AttentionFields::kAll) const;

  /// The values that arrive at each destination, averaged: [D, H, V]. Zeros where no edge ends.
  at::Tensor average(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                     const at::Tensor& value_SHV, Pass& pass) const;

  /// Mixes the heads of averaged values: [D, H, V] to [D, O].
  at::Tensor get_o(const at::Tensor& average_DHV) const;

  /// All three: [D, O]. For self-attention both states are the same.
  at::Tensor operator()(const Relation& relation, const at::Tensor& destination_DI, const at::Tensor& source_SI,
                        Pass& pass) const;

  /// The weights by which the values are averaged, [E, H], before dropout.
  at::Tensor weights(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("query", self.query);
    part("key", self.key);
    part("value", self.value);
    part("output", self.output);
    part("score_vector", self.score_vector);
  }
};

/// Attention without parameters: each node's new state is the average of those that it sees, by softmax of their plain
/// dot products, softmax(X Xᵀ) X. The from-scratch document's first step. [N, I].
at::Tensor self_attention(const Relation& relation, const at::Tensor& x_NI);

}  // namespace edgewise
