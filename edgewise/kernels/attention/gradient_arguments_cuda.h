// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <type_traits>

#include "edgewise/kernels/attention/attention_arguments_cuda.h"

// The parts that the kernels of the backward pass over tiles share. Two kernels compute each weight again from the log
// normalizer: one for the gradients of queries and edge biases, whose blocks have destinations, and one for the
// gradients of keys and values, whose blocks have sources. So each sum belongs to one block, and has one order.
namespace edgewise::kernels::gpu {

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

  /// Replaces the numbers of the lane's edges, of which visit(change) calls change(TileEdge) for each one, at most 32.
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
    if (block_row() == 0 && warp_index() == 0) edges.prepare_row_tile(block_index());
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
