// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "edgewise/graph/relation_view.h"
#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/kernels/score/score_inputs.h"
#include "edgewise/kernels/simd/accumulator_type.h"

// The arguments of attention on raw memory, and the reference. kernels/attention/attention_plan.h has the functions
// that other folders call. Shapes: D = destinations, S = sources, E = edges, H = heads, G = heads of keys and values,
// each of which H / G heads share, K = head size, V = value size.
// The key of an edge is that of its source plus its edge key, and its value is that of its source plus its edge value.
namespace edgewise::kernels {

/// The heads `[begin, end)`.
struct HeadRange {
  std::int64_t begin;
  std::int64_t end;

  std::int64_t size() const { return end - begin; }
};

template <typename T>
struct AttentionForward {
  const T* query;                       // [D, H, K]
  const T* key;                         // [S, G, K]
  const T* value;                       // [S, G, V]
  const AccumulatorType<T>* edge_bias;  // [E, H], or null
  T* out;                               // [D, H, V]
  AccumulatorType<T>* log_normalizer;   // [D, H], an input of backward; -inf for a row without edges
  std::int64_t num_heads;
  std::int64_t head_size;   // K
  std::int64_t value_size;  // V
  AccumulatorType<T> scale;
  AccumulatorType<T> clamp;  // the largest |scale * <query, key>|, to which edge_bias is added; infinity: no bound
  Dropout dropout;
  // [heads().size(), AttentionPlan::num_saved_weights()], aligned to 64 bytes: forward writes the weights (or, for a
  // score function whose gradients need them, <query, key>), and backward reads them. If null, backward computes the
  // weights again.
  AccumulatorType<T>* saved_weights = nullptr;
  std::optional<std::int64_t> only_head = {};  // the only head to compute, if each head has its own relation
  // The score function, or null for the product itself. Requires clamp == infinity and edge_bias == null. Backward
  // writes the gradients of its columns.
  const ScoreInputs<AccumulatorType<T>>* score = nullptr;
  const T* edge_key = nullptr;     // [E, H, K], or null
  const T* edge_value = nullptr;   // [E, H, V], or null
  std::int64_t num_key_heads = 0;  // G, a divisor of H; 0: H. With only_head, G is H

  HeadRange heads() const { return only_head ? HeadRange{*only_head, *only_head + 1} : HeadRange{0, num_heads}; }

  std::int64_t key_heads() const { return num_key_heads == 0 ? num_heads : num_key_heads; }

  /// Returns how many heads share a head of keys and values.
  std::int64_t group_size() const { return num_heads / key_heads(); }

  /// Returns the head of keys and values that a head reads.
  std::int64_t key_head(std::int64_t head) const { return head / group_size(); }

  /// Returns the heads of keys and values that heads() read.
  HeadRange key_range() const { return {key_head(heads().begin), key_head(heads().end - 1) + 1}; }

  /// Returns the heads that read some heads of keys and values.
  HeadRange heads_of(HeadRange keys) const { return {keys.begin * group_size(), keys.end * group_size()}; }
};

template <typename T>
struct AttentionBackward {
  AttentionForward<T> forward;         // the arguments of the forward pass
  const T* grad_out;                   // [D, H, V]
  T* grad_query;                       // [D, H, K]
  T* grad_key;                         // [S, G, K]
  T* grad_value;                       // [S, G, V]
  AccumulatorType<T>* grad_edge_bias;  // [E, H], or null
  T* grad_edge_key = nullptr;          // [E, H, K], or null
  T* grad_edge_value = nullptr;        // [E, H, V], or null
};

template <typename T>
struct AttentionWeights {
  AttentionForward<T> forward;  // value, out and log_normalizer may be null
  AccumulatorType<T>* weight;   // [E, H], before dropout
};

/// Sets `heads` of the rows `[row_begin, row_end)` of a tensor [N, num_heads, size] to zero.
template <typename T>
void clear_heads(T* data, std::int64_t row_begin, std::int64_t row_end, HeadRange heads, std::int64_t num_heads,
                 std::int64_t size) {
  if (heads.size() == num_heads) {
    std::fill_n(data + row_begin * num_heads * size, (row_end - row_begin) * num_heads * size, T{0.0f});
    return;
  }
  for (std::int64_t row = row_begin; row < row_end; ++row) {
    std::fill_n(data + (row * num_heads + heads.begin) * size, heads.size() * size, T{0.0f});
  }
}

// Attention in plain loops, for float, double and BFloat16. Tests compare every kernel with these functions.
namespace reference {

template <typename T>
void attention_forward(const AttentionForward<T>& p, const RelationView& relation);

/// Overwrites all gradients. Uses no atomics: each sum has one fixed order for any number of threads.
template <typename T>
void attention_backward(const AttentionBackward<T>& p, const RelationView& relation);

template <typename T>
void attention_weights(const AttentionWeights<T>& p, const RelationView& relation);

template <>
void attention_forward(const AttentionForward<BFloat16>& p, const RelationView& relation);
template <>
void attention_backward(const AttentionBackward<BFloat16>& p, const RelationView& relation);
template <>
void attention_weights(const AttentionWeights<BFloat16>& p, const RelationView& relation);

}  // namespace reference
}  // namespace edgewise::kernels
