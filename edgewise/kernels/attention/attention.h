// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "edgewise/graph/relation_view.h"
#include "edgewise/kernels/simd/accumulated.h"
#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/kernels/attention/heads.h"

// Attention on raw memory. Shapes: D = destinations, S = sources, E = edges, H = heads, K = head size, V = value size.

namespace edgewise::kernels {

template <typename T>
struct AttentionForward {
  RelationView relation;
  const T* query;                   // [D, H, K]
  const T* key;                     // [S, H, K]
  const T* value;                   // [S, H, V]
  const Accumulated<T>* edge_bias;  // [E, H], or null
  T* out;                           // [D, H, V]
  Accumulated<T>* log_normalizer;   // [D, H], read again by backward; -inf for a row without edges
  std::int64_t num_heads;
  std::int64_t head_size;   // K
  std::int64_t value_size;  // V
  Accumulated<T> scale;
  Accumulated<T> clamp;  // bound of a scaled score's size; infinity means none
  Dropout dropout;
  // [heads().size(), AttentionPlan::num_kept_weights()], aligned to 64 bytes, from forward to backward; or null.
  Accumulated<T>* kept_weights = nullptr;
  std::optional<std::int64_t> only_head = {};  // the one head to compute, where heads have relations of their own

  HeadRange heads() const { return only_head ? HeadRange{*only_head, *only_head + 1} : HeadRange{0, num_heads}; }
};

template <typename T>
struct AttentionBackward {
  AttentionForward<T> forward;     // as it was run
  const T* grad_out;               // [D, H, V]
  T* grad_query;                   // [D, H, K]
  T* grad_key;                     // [S, H, K]
  T* grad_value;                   // [S, H, V]
  Accumulated<T>* grad_edge_bias;  // [E, H], or null
};

template <typename T>
struct AttentionWeights {
  AttentionForward<T> forward;  // value, out and log_normalizer may be null
  Accumulated<T>* weight;       // [E, H], before dropout
};

}  // namespace edgewise::kernels
