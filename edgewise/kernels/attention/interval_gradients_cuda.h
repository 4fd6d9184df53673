// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <limits>
#include <type_traits>

#include "edgewise/kernels/attention/interval_rows_cuda.h"

// The parts that the kernels of the backward pass share. Two kernels compute each weight again from the log normalizer:
// one for the gradients of queries and edge biases, whose blocks have destinations, and one for the gradients of keys
// and values, whose blocks have sources. So each sum belongs to one block, and has one order.
namespace edgewise::kernels::device {

/// The numbers of a row and a head that the backward pass uses.
struct alignas(16) RowRecord {
  int begin;  // the interval
  int end;
  float log_normalizer;  // infinity if no score of the row is finite, so that its weights are 0
  float mean_gradient;   // the sum of grad_out * out: the mean of the gradients of the row's weights
};

/// The tiles of rows [begin, end).
struct TileRange {
  int begin;
  int end;
};

/// The gradients of an edge.
struct EdgeGradient {
  float weight;   // the weight after dropout, without the scale of dropout
  float score;    // the gradient of the score, and of the edge bias
  float product;  // the gradient of the scaled product of query and key: 0 if clamped
};

/// The arguments of the kernels of the backward pass.
template <typename T>
struct IntervalGradients : IntervalArguments<T> {
  static constexpr int kRowsOfTile = 32;

  const T* grad_out;      // [D, H, K]
  T* grad_query;          // [D, H, K]
  T* grad_key;            // [S, H, K]
  T* grad_value;          // [S, H, K]
  float* grad_edge_bias;  // [E, H], or null
  float product_scale;    // factor of a product, whose score is in units of 1
  RowRecord* records;     // workspace: [heads, D]
  KeyRange* tile_keys;    // workspace: [num_tiles], the keys of kRowsOfTile rows

  IntervalGradients(const AttentionBackward<T>& p, const RelationView& relation, void* workspace)
      : IntervalArguments<T>(p.forward, relation),
        grad_out(p.grad_out),
        grad_query(p.grad_query),
        grad_key(p.grad_key),
        grad_value(p.grad_value),
        grad_edge_bias(p.grad_edge_bias),
        product_scale(p.forward.scale),
        records(static_cast<RowRecord*>(workspace)),
        tile_keys(reinterpret_cast<KeyRange*>(records + p.forward.heads().size() * relation.num_destinations)) {}

  constexpr int num_tiles() const { return num_blocks_for(this->num_destinations, kRowsOfTile); }

  EDGEWISE_DEVICE RowRecord* records_of_head() const {
    return records + std::int64_t{this->head() - this->first_head} * this->num_destinations;
  }

  EDGEWISE_DEVICE RowRecord record(int row) const {
    return row < this->num_destinations ? records_of_head()[row] : RowRecord{};
  }

  /// Returns the gradients of an edge from the product of query and key and from the product of grad_out and value;
  /// zeros if the row lacks the key.
  EDGEWISE_DEVICE EdgeGradient edge_gradient(float product, float grad_weight, bool is_kept, const IntervalRow& row,
                                             const RowRecord& record, int key_number) const {
    const float score = this->score(product, row, key_number);
    const float weight = exp2_approximate(fused_multiply_add(-record.log_normalizer, kLog2E, score));
    const float factor = is_kept ? this->dropout_rule.scale() : 0.0f;
    const float gradient = weight * fused_multiply_add(factor, grad_weight, -record.mean_gradient);
    const float scaled = product * this->scale;
    const bool is_clamped = scaled > this->clamp || scaled < -this->clamp;
    return {.weight = is_kept ? weight : 0.0f, .score = gradient, .product = is_clamped ? 0.0f : gradient};
  }

  /// Stores the gradient of an edge bias if the row has the key.
  EDGEWISE_DEVICE void store_edge_bias(const EdgeGradient& edge, const IntervalRow& row, int key_number) const {
    if (grad_edge_bias == nullptr || !row.has(key_number)) return;
    grad_edge_bias[row.edge(key_number) * this->num_heads + this->head()] = edge.score;
  }

  /// Returns a range that holds all tiles with an edge from kNodesOfBlock sources from `first` on. A collective of the
  /// block.
  template <int kThreads>
  EDGEWISE_DEVICE TileRange tiles_of_sources(int first, int (&partial)[kThreads / kWarpSize]) const {
    int begin = num_tiles();
    int end = 0;
    for (int tile = thread_index(); tile < num_tiles(); tile += kThreads) {
      if (!has_edges(tile, first)) continue;
      begin = Minimum()(begin, tile);
      end = tile + 1;
    }
    return {reduce_block<kThreads>(begin, Minimum(), partial), reduce_block<kThreads>(end, Maximum(), partial)};
  }

  /// Returns the first tile of [tile, end) that may have edges from kNodesOfBlock sources from `first` on, or else end.
  EDGEWISE_DEVICE int next_tile(int tile, int end, int first) const {
    while (tile < end && !has_edges(tile, first)) ++tile;
    return tile;
  }

 private:
  EDGEWISE_DEVICE bool has_edges(int tile, int first_source) const {
    return tile_keys[tile].overlaps(first_source, this->kNodesOfBlock);
  }
};

/// The rows of a tile in shared memory, for the kernels whose blocks have sources. Lane i has row i of the tile.
template <int kRows>
struct RowsOfTile {
  static_assert(kRows == kWarpSize);

  RowRecord records[kRows];
  EdgeIndex first_edge[kRows];

  /// Begins to copy the rows; rows behind the last one have no edges. A call by the whole block.
  template <typename T>
  EDGEWISE_DEVICE void begin_copy(const IntervalGradients<T>& p, int first_row) {
    const int i = thread_index();
    if (i >= kRows) return;
    const int row = first_row + i;
    const bool is_valid = row < p.num_destinations;
    copy_async<16>(&records[i], is_valid ? p.records_of_head() + row : p.records, is_valid);
    copy_async<8>(&first_edge[i], is_valid ? p.row_begin + row : p.row_begin, is_valid);
  }

  EDGEWISE_DEVICE IntervalRow row(int i) const { return {records[i].begin, records[i].end, first_edge[i]}; }

  /// Returns whether a row has an edge from one of `count` sources from `first` on. A collective of the warp.
  EDGEWISE_DEVICE bool has_edges(int first, int count) const {
    const RowRecord& own = records[lane_index()];
    return ballot(own.begin < own.end && KeyRange{own.begin, own.end}.overlaps(first, count)) != 0;
  }

  /// Returns the sources of [first, first + 16) whose edges to the lane's row dropout keeps, as bits. A collective of
  /// the warp.
  template <typename T>
  EDGEWISE_DEVICE std::uint32_t kept_sources(const IntervalGradients<T>& p, int first) const {
    return static_cast<std::uint32_t>(p.template kept_keys<16, 1>(row(lane_index()), first));
  }
};

/// Writes the records of the rows, and the keys of each tile of rows. Reads `out` and grad_out once.
template <int kHeadSize, typename T>
struct IntervalRecords {
  static constexpr const char* kName = "interval_records";
  static constexpr int kRows = IntervalGradients<T>::kRowsOfTile;
  static constexpr int kColumns = 32;            // numbers of a row that its lanes load at once
  static constexpr int kChunk = 16 / sizeof(T);  // numbers that a lane loads at once
  static constexpr int kLanesOfRow = kColumns / kChunk;
  static constexpr int kThreads = kRows * kLanesOfRow;
  struct Shared {};

  IntervalGradients<T> p;

  EDGEWISE_DEVICE void operator()() const {
    const int first_row = p.block_of_head() * kRows;
    const int row = first_row + thread_index() / kLanesOfRow;
    const bool is_valid = row < p.num_destinations;
    const float sum = reduce_lanes<kLanesOfRow>(is_valid ? multiply_outputs(row) : 0.0f, Sum());
    if (is_valid && thread_index() % kLanesOfRow == 0) {
      const IntervalRow interval = p.row(row);
      const float log_normalizer = p.log_normalizer[std::int64_t{row} * p.num_heads + p.head()];
      p.records_of_head()[row] = {.begin = interval.begin,
                                  .end = interval.end,
                                  .log_normalizer = log_normalizer == kMinusInfinity ? -kMinusInfinity : log_normalizer,
                                  .mean_gradient = sum};
    }
    if (p.head() == p.first_head && warp_index() == 0) {
      const IntervalRow of_lane = p.row(first_row + lane_index());
      const KeyRange keys = keys_of_warp({of_lane.begin, of_lane.end});
      if (lane_index() == 0) p.tile_keys[p.block_of_head()] = keys;
    }
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

}  // namespace edgewise::kernels::device
