// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/base/bfloat16.h"

// Attention of nodes whose sources lie anywhere in memory, for translating. Heads lie side by side: element (k, h) of a
// query, key or value is at k * H + h, so that the lanes of a vector are heads, and a score needs no sum across lanes.
// Shapes: R = rows (destinations), K = head size, H = heads.

namespace edgewise::kernels {

/// The sources of a row, in their order: `count` of a list from `begin` on.
struct SourceRange {
  std::int64_t begin;
  std::int64_t count;
};

/// H is a power of two and K * H a multiple of 16: pad with zeros. T is what keys and values are kept in: float or
/// BFloat16.
template <typename T>
struct NodeAttention {
  std::int64_t rows;
  std::int64_t num_heads;
  std::int64_t head_size;
  const SourceRange* ranges;  // [R]
  const T* const* sources;    // where each source's memory begins,
  std::int64_t key_offset;    // its key in that, [K, H],
  std::int64_t value_offset;  // and its value, [K, H]
  const float* query;         // [R, K, H], rows that begin `query_stride` apart
  std::int64_t query_stride;
  float* out;  // [R, K, H], without gaps; zeros for a row without sources
  float scale;
  float clamp;                          // bound of a scaled score's size; infinity means none
  const float* score_vector = nullptr;  // [K, H]: scores are <vector, tanh(query + key)>, not <query, key> * scale
  float* const* weights = nullptr;      // [R] places for [sources, H], or null
};

template <typename T>
void node_attention(const NodeAttention<T>& p);

}  // namespace edgewise::kernels
