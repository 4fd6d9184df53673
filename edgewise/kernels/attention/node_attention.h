// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "edgewise/base/bfloat16.h"

// Attention of nodes over sources anywhere in memory, for decoding with a KV cache. Element (k, h) of a query, key or
// value is at k * H + h: the lanes of a vector are heads, so a score needs few or no sums across lanes.
// Shapes: N = nodes (destinations), G = rows of a node, K = head size, H = heads. All G rows of a node have the node's
// sources: with grouped heads, row g has each head of queries that is number g of those that share a head of keys.
namespace edgewise::kernels {

/// The sources of a node, in order: `count` entries of NodeAttention::sources from entry `begin` on.
struct SourceRange {
  std::int64_t begin;
  std::int64_t count;
};

/// Returns how many numbers a distance, or the slopes, have in a ScoreBias: number i is that of head i % H.
constexpr std::int64_t score_bias_lanes(std::int64_t num_heads) { return std::max<std::int64_t>(num_heads, 16); }

/// Numbers that are added to scores by the distance d of a row from a source, the row's position minus the source's:
/// table[d] - slope * |d| for each head. L = score_bias_lanes(H).
struct ScoreBias {
  const float* slopes = nullptr;  // [G, L], or null for zeros
  const float* table = nullptr;  // [2 * max_distance + 1, G, L], the distances from -max_distance on; or null for zeros
  std::int64_t max_distance = 0;  // farther distances have the numbers of the ends
};

/// The arguments of node_attention. H must be a power of two and K * H a multiple of 16: pad with zeros. T, the type of
/// keys and values, is float or BFloat16.
template <typename T>
struct NodeAttention {
  std::int64_t rows = 0;  // N * G
  std::int64_t num_heads = 0;
  std::int64_t head_size = 0;
  const SourceRange* ranges;      // [N]
  const T* const* sources;        // the memory of each source
  std::int64_t key_offset;        // elements before the key [K, H] in a source's memory
  std::int64_t value_offset = 0;  // elements before the value [K, H] in a source's memory
  const float* query;             // [N, G, K, H], with query_stride elements from node to node
  std::int64_t query_stride;
  float* out = nullptr;  // [N, G, K, H], contiguous; zeros for a node without sources
  float scale = 1;
  // The largest absolute value of a scaled score; infinity means no bound.
  float clamp = std::numeric_limits<float>::infinity();
  const float* score_vector = nullptr;  // [K, H], or null; scores are then <score_vector, tanh(query + key)>, unscaled
  float* const* weights = nullptr;      // [N, G] pointers to memory [count, H] for the weights of a row, or null
  const ScoreBias* bias = nullptr;      // added to scores, after the clamp; or null
  const std::int64_t* node_positions = nullptr;    // [N], with a bias
  const std::int32_t* source_positions = nullptr;  // like `sources`; null: source i of a node has position i
  std::int64_t group_size = 1;                     // G

  /// Returns the node of a row. With a single row each, a division would take longer than all else.
  std::int64_t node_of(std::int64_t row) const { return group_size == 1 ? row : row / group_size; }
  /// Returns the number of a row among those of its node.
  std::int64_t place_of(std::int64_t row) const { return group_size == 1 ? 0 : row % group_size; }

  const SourceRange& range(std::int64_t row) const { return ranges[node_of(row)]; }
  const float* query_of(std::int64_t row) const {
    return query + node_of(row) * query_stride + place_of(row) * head_size * num_heads;
  }

  /// Returns the distance of a row from its source number s.
  std::int64_t distance(std::int64_t row, std::int64_t s) const {
    return node_positions[node_of(row)] - (source_positions == nullptr ? s : source_positions[range(row).begin + s]);
  }

  /// Returns the numbers of a row's heads in the bias: those of source number s in its table, and its slopes, [L] each.
  const float* bias_numbers(std::int64_t row, std::int64_t s) const {
    const std::int64_t largest = bias->max_distance;
    const std::int64_t index = std::clamp(distance(row, s), -largest, largest) + largest;
    return bias->table + (index * group_size + place_of(row)) * score_bias_lanes(num_heads);
  }
  const float* slopes_of(std::int64_t row) const { return bias->slopes + place_of(row) * score_bias_lanes(num_heads); }
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
