// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "edgewise/base/random.h"
#include "edgewise/graph/relation_view.h"
#include "edgewise/kernels/attention/attention.h"
#include "edgewise/kernels/attention/online_softmax_cuda.h"
#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/kernels/gpu/device.h"

// The parts that the kernels of attention over tiles share. A block computes one head of kNodesOfBlock consecutive
// nodes: destinations, or sources for the gradients of keys and values. It multiplies them with tiles of other nodes.
// A template parameter Edges says which tiles a block has, and which edges a tile: IntervalEdges
// (interval_attention.cu) or BitmapEdges (bitmap_attention.cu). It has two classes of tiles, for blocks of destinations
// (RowTiles) and of sources (SourceTiles). The blocks of a head are a row of the grid. The edges of a row in a tile are
// a struct:
//
//     bool has(int column)                   whether the row has an edge from the column
//     EdgeIndex edge(int column)             the number of this edge
//     Row shifted(int count)                 the row whose column 0 is column `count` of this one
//     EdgeRange edges<kColumns>()            the numbers of all edges from the first kColumns columns
//     uint64 to_columns<kColumns, kLanes>(bits)
//                                            the bits of these edges, in their order, as bits of columns; a collective
//                                            of the kLanes lanes that share a row
//
// Two kernels of the backward pass compute each weight again from the log normalizer: one for the gradients of queries
// and edge biases, whose blocks have destinations, and one for the gradients of keys and values, whose blocks have
// sources. So each sum belongs to one block, and has one order.
namespace edgewise::kernels::gpu {

inline constexpr int kNodesOfBlock = 64;

/// The names of the kernels over tiles, of a type of numbers and of edges.
struct TiledKernelNames {
  const char* forward;
  const char* query_gradient;
  const char* source_gradient;
};

template <class Layout, class Edges>
constexpr TiledKernelNames tiled_kernel_names() {
  return Edges::kIsBitmap ? Layout::kBitmapNames : Layout::kIntervalNames;
}

constexpr int num_blocks_for(int num_nodes, int nodes_of_block) {
  return (num_nodes + nodes_of_block - 1) / nodes_of_block;
}

/// How many of a warp's pairs of a row and a source in a tile have an edge.
enum class TileFill { kNone, kSome, kAll };

/// The edges [begin, end).
struct EdgeRange {
  EdgeIndex begin;
  EdgeIndex end;
};

/// Combines the first kBits bits of kLanes consecutive lanes. A collective of the warp.
template <int kBits, int kLanes>
EDGEWISE_DEVICE std::uint64_t join_bits(std::uint64_t bits) {
  const auto low = reduce_lanes<kLanes>(static_cast<std::uint32_t>(bits), BitOr());
  const auto high = kBits > 32 ? reduce_lanes<kLanes>(static_cast<std::uint32_t>(bits >> 32), BitOr()) : 0u;
  return low | std::uint64_t{high} << 32;
}

/// The arguments of the kernels.
template <typename T>
struct AttentionArguments {
  const T* query;          // [D, H, K]
  const T* key;            // [S, H, K]
  const T* value;          // [S, H, K]
  const float* edge_bias;  // [E, H], or null
  T* out;                  // [D, H, K]
  float* log_normalizer;   // [D, H]
  int num_destinations;
  int num_sources;
  int num_heads;   // H
  int first_head;  // the first one that is computed
  float scale;     // factor of a product, whose score is in units of log2(e)
  float clamp;     // bound of a score, in units of log2(e)
  DropoutRule<float> dropout_rule;
  std::uint64_t dropout_seed;
  std::uint64_t dropout_stream;

  AttentionArguments(const AttentionForward<T>& p, std::int64_t destinations, std::int64_t sources)
      : query(p.query),
        key(p.key),
        value(p.value),
        edge_bias(p.edge_bias),
        out(p.out),
        log_normalizer(p.log_normalizer),
        num_destinations(static_cast<int>(destinations)),
        num_sources(static_cast<int>(sources)),
        num_heads(static_cast<int>(p.num_heads)),
        first_head(static_cast<int>(p.heads().begin)),
        scale(p.scale * kLog2E),
        clamp(p.clamp * kLog2E),
        dropout_rule(p.dropout),
        dropout_seed(p.dropout.seed),
        dropout_stream(p.dropout.stream) {}

  EDGEWISE_DEVICE int head() const { return first_head + block_index_y(); }
  EDGEWISE_DEVICE bool has_clamp() const { return clamp < -kMinusInfinity; }
  EDGEWISE_DEVICE bool has_dropout() const { return !dropout_rule.is_identity(); }

  /// Returns the index of the first number of a node in a tensor [D or S, H, K].
  template <int kHeadSize>
  EDGEWISE_DEVICE std::int64_t at(int node) const {
    return (std::int64_t{node} * num_heads + head()) * kHeadSize;
  }

  /// Replaces the lane's products of queries and keys by scores: -infinity where a row lacks the column.
  /// visit(change) calls change(product, row, column) for each of them, at most 32. Returns which scores were clamped,
  /// as bits in the order of the visits. A condition is tested once for all scores, because each test within the loop
  /// over them would take about as long as a score itself.
  template <class Visit>
  EDGEWISE_DEVICE std::uint32_t make_scores(TileFill fill, const Visit& visit) const {
    visit([&](float& score, const auto& /*row*/, int /*column*/) { score *= scale; });
    std::uint32_t clamped = 0;
    if (has_clamp()) {
      std::uint32_t bit = 1;
      visit([&](float& score, const auto& /*row*/, int /*column*/) {
        if (score > clamp || score < -clamp) clamped |= bit;
        score = clamp_between(score, clamp);
        bit <<= 1;
      });
    }
    if (edge_bias != nullptr) {
      visit([&](float& score, const auto& row, int column) {
        if (!row.has(column)) return;
        score = fused_multiply_add(edge_bias[row.edge(column) * num_heads + head()], kLog2E, score);
      });
    }
    if (fill != TileFill::kAll) {
      visit([&](float& score, const auto& row, int column) { score = row.has(column) ? score : kMinusInfinity; });
    }
    return clamped;
  }

  /// Returns which of the row's edges from the first kColumns columns dropout keeps, as bits of columns. Bits without
  /// an edge are undefined. The kLanes lanes that share a row call this function together, and each of them draws some
  /// of the Philox blocks. A collective of the warp.
  template <int kColumns, int kLanes, class Row>
  EDGEWISE_DEVICE std::uint64_t kept_columns(const Row& row) const {
    static_assert(kColumns <= 64);
    if (!has_dropout()) return ~std::uint64_t{0};
    const EdgeRange edges = row.template edges<kColumns>();
    const int count = static_cast<int>(edges.end - edges.begin);
    std::uint64_t kept = 0;  // bit i is edge edges.begin + i
    if (count > 0) {
      const EdgeIndex last_quad = (edges.end - 1) / 4;
      for (EdgeIndex quad = edges.begin / 4 + lane_index() % kLanes; quad <= last_quad; quad += kLanes) {
        const auto words = philox(dropout_seed, dropout_stream, static_cast<std::uint64_t>(quad * num_heads + head()));
        EDGEWISE_UNROLL
        for (int i = 0; i < 4; ++i) {
          const int edge = static_cast<int>(quad * 4 - edges.begin) + i;
          const bool is_kept = edge >= 0 && edge < count && words[i] >= dropout_rule.threshold();
          if (is_kept) kept |= std::uint64_t{1} << edge;
        }
      }
    }
    return row.template to_columns<kColumns, kLanes>(join_bits<kColumns, kLanes>(kept));
  }
};

/// Consecutive nodes. Nodes from `end` on do not exist.
struct ConsecutiveNodes {
  int first;
  int end;

  /// Returns the number of node i; negative if it does not exist.
  EDGEWISE_DEVICE int operator()(int i) const { return first + i < end ? first + i : -1; }
};

/// Begins to copy nodes of a head of `from`, a tensor [N, H, K], to shared memory. nodes(i) is the number of node i;
/// nodes with negative numbers are zeros.
template <int kThreads, int kHeadSize, int kNodes, int kStride, typename T, class Nodes>
EDGEWISE_DEVICE void copy_nodes(const AttentionArguments<T>& p, const T* from, const Nodes& nodes,
                                T (&to)[kNodes][kStride]) {
  constexpr int kChunk = 16 / sizeof(T);
  constexpr int kChunksOfNode = kHeadSize / kChunk;
  static_assert(kNodes * kChunksOfNode % kThreads == 0);
  const T* const of_head = from + p.head() * kHeadSize;
  const int stride = p.num_heads * kHeadSize;
  EDGEWISE_UNROLL
  for (int step = 0; step < kNodes * kChunksOfNode / kThreads; ++step) {
    const int i = step * kThreads + thread_index();
    const int node = nodes(i / kChunksOfNode);
    const int column = i % kChunksOfNode * kChunk;
    const bool is_valid = node >= 0;
    const std::int64_t offset = is_valid ? std::int64_t{node} * stride : 0;
    copy_async<16>(&to[i / kChunksOfNode][column], of_head + offset + column, is_valid);
  }
}

inline constexpr int kRowsOfTile = 32;  // the tiles of a block of sources have so many rows
static_assert(kRowsOfTile == kWarpSize);

/// The numbers of a row and a head from which the gradients of its edges follow.
struct alignas(8) RowRecord {
  float log_normalizer;  // infinity if no score of the row is finite, so that its weights are 0
  float mean_gradient;   // the sum of grad_out * out: the mean of the gradients of the row's weights
};

/// A pair of a row and a source in a tile, which GradientArguments::differentiate() visits.
template <class Row>
struct TileEdge {
  float& score;     // first the product of query and key, then the weight after dropout, without the scale of dropout
  float& gradient;  // first of the weight: the product of grad_out and value; then of the scaled product
  const Row& row;
  const RowRecord& record;
  int column;
  bool is_kept;  // by dropout
};

/// The arguments of the kernels of the backward pass.
template <typename T>
struct GradientArguments : AttentionArguments<T> {
  const T* grad_out;      // [D, H, K]
  T* grad_query;          // [D, H, K]
  T* grad_key;            // [S, H, K]
  T* grad_value;          // [S, H, K]
  float* grad_edge_bias;  // [E, H], or null
  float product_scale;    // factor of a product, whose score is in units of 1
  RowRecord* records;     // workspace: [heads, D]

  GradientArguments(const AttentionBackward<T>& p, std::int64_t destinations, std::int64_t sources,
                    RowRecord* records_of_rows)
      : AttentionArguments<T>(p.forward, destinations, sources),
        grad_out(p.grad_out),
        grad_query(p.grad_query),
        grad_key(p.grad_key),
        grad_value(p.grad_value),
        grad_edge_bias(p.grad_edge_bias),
        product_scale(p.forward.scale),
        records(records_of_rows) {}

  EDGEWISE_DEVICE RowRecord* records_of_head() const {
    return records + std::int64_t{this->head() - this->first_head} * this->num_destinations;
  }

  EDGEWISE_DEVICE RowRecord record(int row) const {
    return row < this->num_destinations ? records_of_head()[row] : RowRecord{};
  }

  /// Replaces the numbers of the lane's edges, at most 32: visit(change) calls change(TileEdge) for each edge.
  /// Where a row lacks the column, the results are zeros. As in make_scores(), a condition is tested once for all
  /// edges. With kStoresEdgeBias, stores the gradients of edge biases.
  template <bool kStoresEdgeBias, class Visit>
  EDGEWISE_DEVICE void differentiate(TileFill fill, const Visit& visit) const {
    const std::uint32_t clamped = this->make_scores(
        fill, [&](const auto& change) { visit([&](const auto& edge) { change(edge.score, edge.row, edge.column); }); });
    visit([](const auto& edge) {
      edge.score = exp2_approximate(fused_multiply_add(-edge.record.log_normalizer, kLog2E, edge.score));
    });
    if (this->has_dropout()) {
      visit([](const auto& edge) { edge.gradient = edge.is_kept ? edge.gradient : 0.0f; });
    }
    visit([&](const auto& edge) {
      const float of_weight = fused_multiply_add(this->dropout_rule.scale(), edge.gradient, -edge.record.mean_gradient);
      edge.gradient = edge.score * of_weight;
    });
    if (this->has_dropout()) {
      visit([](const auto& edge) { edge.score = edge.is_kept ? edge.score : 0.0f; });
    }
    if constexpr (kStoresEdgeBias) {
      if (grad_edge_bias != nullptr) {
        visit([&](const auto& edge) {
          if (!edge.row.has(edge.column)) return;
          grad_edge_bias[edge.row.edge(edge.column) * this->num_heads + this->head()] = edge.gradient;
        });
      }
    }
    if (this->has_clamp()) {
      std::uint32_t bit = 1;
      visit([&](const auto& edge) {
        edge.gradient = (clamped & bit) != 0 ? 0.0f : edge.gradient;
        bit <<= 1;
      });
    }
  }
};

/// Writes the records of the rows, and what Edges derives from each tile of rows. Reads `out` and grad_out once.
template <int kHeadSize, typename T, class Edges>
struct RowRecords {
  static constexpr const char* kName = Edges::kIsBitmap ? "tile_records" : "interval_records";
  static constexpr int kColumns = 32;            // numbers of a row that its lanes load at once
  static constexpr int kChunk = 16 / sizeof(T);  // numbers that a lane loads at once
  static constexpr int kLanesOfRow = kColumns / kChunk;
  static constexpr int kThreads = kRowsOfTile * kLanesOfRow;
  struct Shared {};

  GradientArguments<T> p;
  Edges edges;

  EDGEWISE_DEVICE void operator()() const {
    const int row = block_index() * kRowsOfTile + thread_index() / kLanesOfRow;
    const bool is_valid = row < p.num_destinations;
    const float sum = reduce_lanes<kLanesOfRow>(is_valid ? multiply_outputs(row) : 0.0f, Sum());
    if (is_valid && thread_index() % kLanesOfRow == 0) {
      const float log_normalizer = p.log_normalizer[std::int64_t{row} * p.num_heads + p.head()];
      p.records_of_head()[row] = {.log_normalizer = log_normalizer == kMinusInfinity ? -kMinusInfinity : log_normalizer,
                                  .mean_gradient = sum};
    }
    if (block_index_y() == 0 && warp_index() == 0) edges.prepare_row_tile(block_index());
  }

 private:
  // Returns the lane's part of the sum of grad_out * out.
  EDGEWISE_DEVICE float multiply_outputs(int row) const {
    const std::int64_t at = p.template at<kHeadSize>(row) + thread_index() % kLanesOfRow * kChunk;
    float sum = 0;
    EDGEWISE_UNROLL
    for (int column = 0; column < kHeadSize; column += kColumns) {
      const Quad out = *reinterpret_cast<const Quad*>(p.out + at + column);
      const Quad grad_out = *reinterpret_cast<const Quad*>(p.grad_out + at + column);
      EDGEWISE_UNROLL
      for (int i = 0; i < 4; ++i) sum = add_products(out.words[i], grad_out.words[i], sum);
    }
    return sum;
  }

  EDGEWISE_DEVICE static float add_products(std::uint32_t a, std::uint32_t b, float sum) {
    if constexpr (std::is_same_v<T, float>) {
      return fused_multiply_add(std::bit_cast<float>(a), std::bit_cast<float>(b), sum);
    } else {
      return fused_multiply_add(high_bf16(a), high_bf16(b), fused_multiply_add(low_bf16(a), low_bf16(b), sum));
    }
  }
};

}  // namespace edgewise::kernels::gpu
