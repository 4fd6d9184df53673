// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "edgewise/base/bfloat16.h"
#include "edgewise/base/random.h"
#include "edgewise/graph/relation_view.h"
#include "edgewise/kernels/attention/attention.h"
#include "edgewise/kernels/attention/online_softmax_cuda.h"
#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/kernels/gpu/device.h"

// The parts that the kernels of attention over CSR rows share. A group of kLanes consecutive lanes computes a row of a
// head. It loads the keys and values of kEdgesOfStep edges at a time, and each lane 16 bytes of each of them. Lane i of
// a group computes the score of edge i % kEdgesOfStep. The groups of a warp are heads of the same row if possible, so
// that a warp loads contiguous memory and its groups have equally many edges.
namespace edgewise::kernels::gpu {

inline constexpr int kEdgesOfStep = 4;
inline constexpr int kThreadsOfSparseBlock = 128;
inline constexpr NodeIndex kNoNode = -1;

/// A node in a head; its node is kNoNode in a group after the last row.
struct HeadNode {
  NodeIndex node;
  int head;

  EDGEWISE_DEVICE bool exists() const { return node != kNoNode; }
};

/// An edge of a list, seen from the other end; its node is kNoNode after the end of the list.
struct ListedEdge {
  NodeIndex node;
  EdgeIndex number;

  EDGEWISE_DEVICE bool exists() const { return node != kNoNode; }
};

/// The edges of each row, or of each source.
struct EdgeLists {
  const EdgeIndex* begin;   // [num_lists + 1]
  const NodeIndex* node;    // [E], the other end of an edge
  const EdgeIndex* number;  // [E], or null if edge i has the number i
  int num_lists;
};

/// The edges that a group computes.
struct EdgesOfGroup {
  const EdgeLists& lists;
  EdgeIndex begin = 0;
  EdgeIndex end = 0;

  EDGEWISE_DEVICE EdgesOfGroup(const EdgeLists& all, NodeIndex list) : lists(all) {
    if (list == kNoNode) return;
    begin = lists.begin[list];
    end = lists.begin[list + 1];
  }

  /// Returns the steps of the longest list of the warp, whose lanes all take part in collectives.
  EDGEWISE_DEVICE int num_steps() const {
    return reduce_lanes(static_cast<int>((end - begin + kEdgesOfStep - 1) / kEdgesOfStep), Maximum());
  }

  /// Returns the edge of this lane.
  EDGEWISE_DEVICE ListedEdge edge(int step) const {
    const EdgeIndex index = begin + std::int64_t{step} * kEdgesOfStep + lane_index() % kEdgesOfStep;
    if (index >= end) return {kNoNode, 0};
    return {lists.node[index], lists.number == nullptr ? index : lists.number[index]};
  }
};

/// The part of the rows of a tensor [N, H, size] that a lane has: 16 bytes, zeros after `size`.
template <typename T, int kLanes>
struct LanePart {
  static_assert(kLanes >= kEdgesOfStep);
  static constexpr int kCount = 16 / sizeof(T);

  EDGEWISE_DEVICE static int column() { return lane_index() % kLanes * kCount; }

  EDGEWISE_DEVICE static Quad load(const T* rows, std::int64_t row, int size) {
    if (row < 0 || column() >= size) return {};
    return *reinterpret_cast<const Quad*>(rows + row * size + column());
  }

  EDGEWISE_DEVICE static void store(T* rows, std::int64_t row, int size, const float (&values)[kCount]) {
    if (row < 0 || column() >= size) return;
    Quad quad;
    EDGEWISE_UNROLL
    for (int i = 0; i < 4; ++i) {
      if constexpr (std::is_same_v<T, float>) {
        quad.words[i] = std::bit_cast<std::uint32_t>(values[i]);
      } else {
        quad.words[i] = pack_bf16(values[2 * i], values[2 * i + 1]);
      }
    }
    *reinterpret_cast<Quad*>(rows + row * size + column()) = quad;
  }

  EDGEWISE_DEVICE static float element(const Quad& quad, int i) {
    if constexpr (std::is_same_v<T, float>) {
      return std::bit_cast<float>(quad.words[i]);
    } else {
      return i % 2 == 0 ? low_bf16(quad.words[i / 2]) : high_bf16(quad.words[i / 2]);
    }
  }

  /// Returns this lane's part of a dot product.
  EDGEWISE_DEVICE static float dot(const Quad& a, const Quad& b) {
    float sum = 0;
    EDGEWISE_UNROLL
    for (int i = 0; i < kCount; ++i) sum = fused_multiply_add(element(a, i), element(b, i), sum);
    return sum;
  }

  EDGEWISE_DEVICE static void add_scaled(float (&sum)[kCount], float factor, const Quad& row) {
    EDGEWISE_UNROLL
    for (int i = 0; i < kCount; ++i) sum[i] = fused_multiply_add(factor, element(row, i), sum[i]);
  }
};

/// Returns the value of the lane of this group that has edge `edge` of the step. A collective of the warp.
template <int kLanes, Word T>
EDGEWISE_DEVICE T of_edge(T value, int edge, CallSite site = CallSite::current()) {
  return shuffle(value, lane_index() / kLanes * kLanes + edge, kAllLanes, site);
}

/// Returns the sum of part[i] over the lanes of the group, for this lane's edge i. A collective of the warp. The first
/// two exchanges halve the number of sums of a lane, so that kEdgesOfStep sums take hardly more exchanges than one.
template <int kLanes>
EDGEWISE_DEVICE float sum_of_edge(const float (&part)[kEdgesOfStep], CallSite site = CallSite::current()) {
  static_assert(kEdgesOfStep == 4);
  const bool is_odd = (lane_index() & 1) != 0;
  const bool is_upper = (lane_index() & 2) != 0;
  float low = is_odd ? part[1] : part[0];
  low += shuffle_xor(is_odd ? part[0] : part[1], 1, kAllLanes, site);
  float high = is_odd ? part[3] : part[2];
  high += shuffle_xor(is_odd ? part[2] : part[3], 1, kAllLanes, site);
  float sum = is_upper ? high : low;
  sum += shuffle_xor(is_upper ? low : high, 2, kAllLanes, site);
  EDGEWISE_UNROLL
  for (int distance = kEdgesOfStep; distance < kLanes; distance *= 2) {
    sum += shuffle_xor(sum, distance, kAllLanes, site);
  }
  return sum;
}

/// Returns the sum of a value over the lanes of the group. A collective of the warp.
template <int kLanes>
EDGEWISE_DEVICE float sum_of_group(float value, CallSite site = CallSite::current()) {
  return reduce_lanes<kLanes>(value, Sum(), site);
}

/// The arguments of all kernels, without the relation and the results.
template <typename T>
struct SparseArguments {
  const T* query;          // [D, H, K]
  const T* key;            // [S, H, K]
  const T* value;          // [S, H, V]
  const float* edge_bias;  // [E, H], or null
  int num_heads;           // H
  int first_head;          // the first one that is computed
  int num_computed_heads;
  int head_size;   // K
  int value_size;  // V
  float scale;
  float score_scale;  // factor of a product, whose score is in units of log2(e)
  float clamp;        // bound of a score, in units of log2(e)
  DropoutRule<float> dropout_rule;
  std::uint64_t dropout_seed;
  std::uint64_t dropout_stream;

  explicit SparseArguments(const AttentionForward<T>& p)
      : query(p.query),
        key(p.key),
        value(p.value),
        edge_bias(p.edge_bias),
        num_heads(static_cast<int>(p.num_heads)),
        first_head(static_cast<int>(p.heads().begin)),
        num_computed_heads(static_cast<int>(p.heads().size())),
        head_size(static_cast<int>(p.head_size)),
        value_size(static_cast<int>(p.value_size)),
        scale(p.scale),
        score_scale(p.scale * kLog2E),
        clamp(p.clamp * kLog2E),
        dropout_rule(p.dropout),
        dropout_seed(p.dropout.seed),
        dropout_stream(p.dropout.stream) {}

  /// Returns the node and the head that this lane's group computes.
  template <int kLanes>
  EDGEWISE_DEVICE HeadNode head_node(int num_nodes) const {
    const int group = block_index() * (kThreadsOfSparseBlock / kLanes) + thread_index() / kLanes;
    const int node = group / num_computed_heads;
    return {node < num_nodes ? node : kNoNode, first_head + group % num_computed_heads};
  }

  /// Returns the index of a node's head in [N, H]; negative for kNoNode.
  EDGEWISE_DEVICE std::int64_t at(NodeIndex node, int head) const {
    return node == kNoNode ? -1 : std::int64_t{node} * num_heads + head;
  }
  EDGEWISE_DEVICE std::int64_t at(const HeadNode& node) const { return at(node.node, node.head); }

  struct Score {
    float value;
    bool is_clamped;
  };

  /// Returns the score of an edge from the product of query and key; -infinity if the edge does not exist.
  EDGEWISE_DEVICE Score score(float product, const ListedEdge& edge, int head) const {
    if (!edge.exists()) return {kMinusInfinity, false};
    const float scaled = product * score_scale;
    const float clamped = clamp_between(scaled, clamp);
    const bool is_clamped = scaled > clamp || scaled < -clamp;
    if (edge_bias == nullptr) return {clamped, is_clamped};
    return {fused_multiply_add(edge_bias[edge.number * num_heads + head], kLog2E, clamped), is_clamped};
  }

  /// Returns whether dropout keeps an edge.
  EDGEWISE_DEVICE bool is_kept(const ListedEdge& edge, int head) const {
    if (dropout_rule.is_identity()) return true;
    const auto words =
        philox(dropout_seed, dropout_stream, static_cast<std::uint64_t>(edge.number / 4 * num_heads + head));
    std::uint32_t word = words[0];
    EDGEWISE_UNROLL
    for (int i = 1; i < 4; ++i) word = edge.number % 4 == i ? words[i] : word;
    return word >= dropout_rule.threshold();
  }
};

/// Two tensors with a row for each node and head: queries and gradients of out, or keys and values.
template <typename T>
struct TensorPair {
  const T* first;   // [N, H, K]
  const T* second;  // [N, H, V]
};

/// A lane's part of a row of both tensors.
struct QuadPair {
  Quad first;
  Quad second;
};

template <int kLanes, typename T>
EDGEWISE_DEVICE QuadPair load_pair(const SparseArguments<T>& p, const TensorPair<T>& tensors, std::int64_t row) {
  using Part = LanePart<T, kLanes>;
  return {Part::load(tensors.first, row, p.head_size), Part::load(tensors.second, row, p.value_size)};
}

/// Loads the rows of the nodes of a step's edges. A collective of the warp.
template <int kLanes, typename T>
EDGEWISE_DEVICE void load_step(const SparseArguments<T>& p, const TensorPair<T>& tensors, const ListedEdge& edge,
                               int head, QuadPair (&pairs)[kEdgesOfStep], CallSite site = CallSite::current()) {
  EDGEWISE_UNROLL
  for (int e = 0; e < kEdgesOfStep; ++e) {
    pairs[e] = load_pair<kLanes>(p, tensors, p.at(of_edge<kLanes>(edge.node, e, site), head));
  }
}

}  // namespace edgewise::kernels::gpu
