// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include "edgewise/base/random.h"
#include "edgewise/graph/relation_view.h"
#include "edgewise/kernels/attention/attention.h"
#include "edgewise/kernels/attention/online_softmax_cuda.h"
#include "edgewise/kernels/device/device.h"
#include "edgewise/kernels/device/reductions.h"
#include "edgewise/kernels/dropout/dropout.h"

// The parts that the kernels of attention over intervals share.
namespace edgewise::kernels::device {

/// The interval of a row. A row that does not exist is empty.
struct IntervalRow {
  int begin = 0;
  int end = 0;
  EdgeIndex first_edge = 0;

  EDGEWISE_DEVICE bool has(int key) const { return key >= begin && key < end; }
  EDGEWISE_DEVICE EdgeIndex edge(int key) const { return first_edge + (key - begin); }
};

/// The keys that a group of rows attends to lie in [begin, end).
struct KeyRange {
  int begin;
  int end;

  EDGEWISE_DEVICE bool is_empty() const { return begin >= end; }
  EDGEWISE_DEVICE bool overlaps(int first, int count) const { return first < end && first + count > begin; }
};

constexpr int num_blocks_for(int num_nodes, int nodes_of_block) {
  return (num_nodes + nodes_of_block - 1) / nodes_of_block;
}

/// The arguments of the kernels. A block computes one head of some nodes, in forward of kNodesOfBlock destinations.
template <typename T>
struct IntervalArguments {
  static constexpr int kNodesOfBlock = 64;

  const T* query;          // [D, H, K]
  const T* key;            // [S, H, K]
  const T* value;          // [S, H, K]
  const float* edge_bias;  // [E, H], or null
  T* out;                  // [D, H, K]
  float* log_normalizer;   // [D, H]
  const Interval* intervals;
  const EdgeIndex* row_begin;
  int num_destinations;
  int num_sources;
  int num_heads;   // H
  int first_head;  // the first one that is computed
  int blocks_of_head;
  float scale;  // factor of a product, whose score is in units of log2(e)
  float clamp;  // bound of a score, in units of log2(e)
  DropoutRule<float> dropout_rule;
  std::uint64_t dropout_seed;
  std::uint64_t dropout_stream;

  IntervalArguments(const AttentionForward<T>& p, const RelationView& relation)
      : query(p.query),
        key(p.key),
        value(p.value),
        edge_bias(p.edge_bias),
        out(p.out),
        log_normalizer(p.log_normalizer),
        intervals(relation.intervals),
        row_begin(relation.row_begin),
        num_destinations(static_cast<int>(relation.num_destinations)),
        num_sources(static_cast<int>(relation.num_sources)),
        num_heads(static_cast<int>(p.num_heads)),
        first_head(static_cast<int>(p.heads().begin)),
        blocks_of_head(num_blocks_for(num_destinations, kNodesOfBlock)),
        scale(p.scale * kLog2E),
        clamp(p.clamp * kLog2E),
        dropout_rule(p.dropout),
        dropout_seed(p.dropout.seed),
        dropout_stream(p.dropout.stream) {}

  EDGEWISE_DEVICE int block_of_head() const { return block_index() % blocks_of_head; }
  EDGEWISE_DEVICE int first_node() const { return block_of_head() * kNodesOfBlock; }
  EDGEWISE_DEVICE int head() const { return first_head + block_index() / blocks_of_head; }

  /// Returns the index of the first number of a node in a tensor [D or S, H, K].
  template <int kHeadSize>
  EDGEWISE_DEVICE std::int64_t at(int node) const {
    return (std::int64_t{node} * num_heads + head()) * kHeadSize;
  }

  EDGEWISE_DEVICE IntervalRow row(int number) const {
    if (number >= num_destinations) return {};
    return {intervals[number].begin, intervals[number].end, row_begin[number]};
  }

  /// Returns the score of an edge of a row from the product of query and key; -infinity if the row lacks the key.
  EDGEWISE_DEVICE float score(float product, const IntervalRow& row, int key_number) const {
    if (!row.has(key_number)) return kMinusInfinity;
    const float scaled = product * scale;
    const float clamped = clamp_between(scaled, clamp);
    if (edge_bias == nullptr) return clamped;
    return fused_multiply_add(edge_bias[row.edge(key_number) * num_heads + head()], kLog2E, clamped);
  }

  /// Returns the keys of [first_key, first_key + kKeys) that dropout keeps, as bits. Further bits are undefined. The
  /// kLanes lanes that share a row call this function together, and each of them draws some of the Philox blocks.
  template <int kKeys, int kLanes>
  EDGEWISE_DEVICE std::uint64_t kept_keys(const IntervalRow& row, int first_key) const {
    static_assert(kKeys <= 64);
    if (dropout_rule.is_identity()) return ~std::uint64_t{0};
    const int begin = Maximum()(first_key, row.begin);
    const int end = Minimum()(first_key + kKeys, row.end);
    std::uint64_t kept = 0;
    if (begin < end) {
      const EdgeIndex last_quad = row.edge(end - 1) / 4;
      for (EdgeIndex quad = row.edge(begin) / 4 + lane_index() % kLanes; quad <= last_quad; quad += kLanes) {
        const auto words = philox(dropout_seed, dropout_stream, static_cast<std::uint64_t>(quad * num_heads + head()));
        EDGEWISE_UNROLL
        for (int i = 0; i < 4; ++i) {
          const EdgeIndex key_number = quad * 4 + i - row.first_edge + row.begin;
          const bool is_kept = key_number >= begin && key_number < end && words[i] >= dropout_rule.threshold();
          if (is_kept) kept |= std::uint64_t{1} << (key_number - first_key);
        }
      }
    }
    const auto low = reduce_lanes<kLanes>(static_cast<std::uint32_t>(kept), BitOr());
    const auto high = kKeys > 32 ? reduce_lanes<kLanes>(static_cast<std::uint32_t>(kept >> 32), BitOr()) : 0u;
    return low | std::uint64_t{high} << 32;
  }
};

/// Returns the smallest range with the keys of all rows, each with the keys of `row`. A collective of the warp.
EDGEWISE_DEVICE KeyRange keys_of_warp(KeyRange row) {
  const int begin = row.is_empty() ? std::numeric_limits<int>::max() : row.begin;
  const int end = row.is_empty() ? 0 : row.end;
  return {reduce_lanes(begin, Minimum()), reduce_lanes(end, Maximum())};
}

EDGEWISE_DEVICE KeyRange join(KeyRange a, KeyRange b) {
  if (a.is_empty()) return b;
  if (b.is_empty()) return a;
  return {Minimum()(a.begin, b.begin), Maximum()(a.end, b.end)};
}

/// Returns the range of a block from the ranges of its warps. A collective of the block.
template <int kWarps>
EDGEWISE_DEVICE KeyRange keys_of_block(KeyRange of_warp, KeyRange (&of_warps)[kWarps]) {
  if (lane_index() == 0) of_warps[warp_index()] = of_warp;
  synchronize_block();
  KeyRange result = of_warps[0];
  for (int warp = 1; warp < kWarps; ++warp) result = join(result, of_warps[warp]);
  return result;
}

/// Begins to copy the nodes from `first` on of a head of `from`, a tensor [num_nodes, H, K], to shared memory. Nodes
/// behind the last one are zeros.
template <int kThreads, int kHeadSize, int kNodes, int kStride, typename T>
EDGEWISE_DEVICE void copy_nodes(const IntervalArguments<T>& p, const T* from, int num_nodes, int first,
                                T (&to)[kNodes][kStride]) {
  constexpr int kChunk = 16 / sizeof(T);
  constexpr int kChunksOfNode = kHeadSize / kChunk;
  for (int i = thread_index(); i < kNodes * kChunksOfNode; i += kThreads) {
    const int node = i / kChunksOfNode;
    const int column = i % kChunksOfNode * kChunk;
    const bool is_valid = first + node < num_nodes;
    copy_async<16>(&to[node][column], is_valid ? from + p.template at<kHeadSize>(first + node) + column : from,
                   is_valid);
  }
}

}  // namespace edgewise::kernels::device
