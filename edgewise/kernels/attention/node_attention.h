// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "edgewise/base/bfloat16.h"

// Attention of nodes over sources anywhere in memory, for decoding with a KV cache. Element (k, h) of a query, key or
// value is at k * H + h: the lanes of a vector are heads, so a score needs few or no sums across lanes.
// Shapes: R = rows (destinations), K = head size, H = heads.
namespace edgewise::kernels {

/// The sources of a row, in order: `count` entries of NodeAttention::sources from entry `begin` on.
struct SourceRange {
  std::int64_t begin;
  std::int64_t count;
};

/// Returns how many numbers a distance, or the slopes, have in a ScoreBias: number i is that of head i % H.
constexpr std::int64_t score_bias_lanes(std::int64_t num_heads) { return std::max<std::int64_t>(num_heads, 16); }

/// Numbers that are added to scores by the distance d of a row from a source, the row's position minus the source's:
/// table[d] - slope * |d| for each head. L = score_bias_lanes(H).
struct ScoreBias {
  const float* slopes = nullptr;  // [L], or null for zeros
  const float* table = nullptr;   // [2 * max_distance + 1, L], the distances from -max_distance on; or null for zeros
  std::int64_t max_distance = 0;  // farther distances have the numbers of the ends
};

/// The arguments of node_attention. H must be a power of two and K * H a multiple of 16: pad with zeros. T, the type of
/// keys and values, is float or BFloat16.
template <typename T>
struct NodeAttention {
  std::int64_t rows = 0;
  std::int64_t num_heads = 0;
  std::int64_t head_size = 0;
  const SourceRange* ranges;      // [R]
  const T* const* sources;        // the memory of each source
  std::int64_t key_offset;        // elements before the key [K, H] in a source's memory
  std::int64_t value_offset = 0;  // elements before the value [K, H] in a source's memory
  const float* query;             // [R, K, H], with query_stride elements from row to row
  std::int64_t query_stride;
  float* out = nullptr;  // [R, K, H], contiguous; zeros for a row without sources
  float scale = 1;
  // The largest absolute value of a scaled score; infinity means no bound.
  float clamp = std::numeric_limits<float>::infinity();
  const float* score_vector = nullptr;  // [K, H], or null; scores are then <score_vector, tanh(query + key)>, unscaled
  float* const* weights = nullptr;      // [R] pointers to memory [count, H] for the weights of a row, or null
  const ScoreBias* bias = nullptr;      // added to scores, after the clamp; or null
  const std::int64_t* row_positions = nullptr;     // [R], with a bias
  const std::int32_t* source_positions = nullptr;  // like `sources`; null: source i of a row has position i

  /// Returns the distance of a row from its source number s.
  std::int64_t distance(std::int64_t row, std::int64_t s) const {
    return row_positions[row] - (source_positions == nullptr ? s : source_positions[ranges[row].begin + s]);
  }
};

/// The bits of a row's result do not depend on the other rows.
template <typename T>
void node_attention(const NodeAttention<T>& p);

namespace reference {

/// kernels::node_attention in plain loops.
template <typename T>
void node_attention(const NodeAttention<T>& p);

}  // namespace reference
}  // namespace edgewise::kernels
