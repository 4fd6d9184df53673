// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/gradient_arguments_cuda.h"
#include "edgewise/kernels/attention/tile_products_f32_cuda.h"

namespace edgewise::kernels::device {

/// The gradients of queries and edge biases in fp32. Keys and values pass through shared memory in tiles of 32. A
/// second stage would leave memory for fewer blocks, which hide each other's copies.
template <int kHeadSize, class Edges>
struct TiledQueryGradientF32 {
  using L = F32Layout;
  static constexpr const char* kName = Edges::kIsBitmap ? "tile_query_gradient_f32" : "interval_query_gradient_f32";
  static constexpr int kThreads = L::kThreads;
  static constexpr int kRowsOfLane = L::kNodesOfLane;
  static constexpr int kKeys = L::kOthers;
  static constexpr int kKeysOfLane = L::kOthersOfLane;
  static constexpr int kStride = L::stride(kHeadSize);
  static_assert(kHeadSize % 32 == 0);
  using Tiles = typename Edges::template RowTiles<L, kKeys>;
  using Row = typename Tiles::Row;

  struct Shared {
    alignas(16) float query[L::kNodes][kStride];
    alignas(16) float grad_out[L::kNodes][kStride];
    alignas(16) float key[kKeys][kStride];
    alignas(16) float value[kKeys][kStride];
    float gradient[L::kNodes][L::kWeightStride];  // gradients of the scaled products of queries and keys
    typename Tiles::Shared tiles;
  };

  GradientArguments<float> p;
  Edges edges;

  EDGEWISE_DEVICE void operator()() const {
    Shared& shared = shared_memory<Shared>();
    const Tiles tiles(edges, p.block_of_head(), shared.tiles);
    RowRecord records[kRowsOfLane];
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) records[r] = p.record(tiles.first_node() + L::node(r));
    float grad_query[kRowsOfLane][L::chunks(kHeadSize)][4] = {};

    if (tiles.count() > 0) {
      const ConsecutiveNodes rows_of_block = {tiles.first_node(), p.num_destinations};
      copy_nodes<kThreads, kHeadSize>(p, p.query, rows_of_block, shared.query);
      copy_nodes<kThreads, kHeadSize>(p, p.grad_out, rows_of_block, shared.grad_out);
    }
    for (int tile = 0; tile < tiles.count(); ++tile) {
      copy_nodes<kThreads, kHeadSize>(p, p.key, tiles.nodes(tile), shared.key);
      copy_nodes<kThreads, kHeadSize>(p, p.value, tiles.nodes(tile), shared.value);
      tiles.begin_copy(tile);
      commit_copies();
      wait_copies<0>();
      synchronize_block();
      Row rows[kRowsOfLane];
      if (tiles.find_rows(tile, rows)) {
        float score[kRowsOfLane][kKeysOfLane] = {};
        float gradient[kRowsOfLane][kKeysOfLane] = {};
        multiply_transposed<kHeadSize>(shared.query, shared.key, score);
        multiply_transposed<kHeadSize>(shared.grad_out, shared.value, gradient);
        differentiate(rows, records, score, gradient);
        synchronize_warp();  // the gradients are written; the next barrier is behind their last read
        add_product<kHeadSize>(shared.gradient, shared.key, grad_query);
      }
      synchronize_block();
    }
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      const int row = tiles.first_node() + L::node(r);
      if (row >= p.num_destinations) continue;
      store_row(grad_query[r], p.product_scale, p.grad_query + p.template at<kHeadSize>(row));
    }
  }

 private:
  // Writes the gradients of the scaled products to shared memory, and stores those of edge biases. `score` is the
  // products of queries and keys, and `gradient` the gradients of weights.
  EDGEWISE_DEVICE void differentiate(const Row (&rows)[kRowsOfLane], const RowRecord (&records)[kRowsOfLane],
                                     const float (&score)[kRowsOfLane][kKeysOfLane],
                                     const float (&gradient)[kRowsOfLane][kKeysOfLane]) const {
    Shared& shared = shared_memory<Shared>();
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      const auto kept =
          static_cast<std::uint32_t>(p.template kept_columns<kKeys, L::kLanesOfNode>(rows[r])) >> L::first_column();
      const Row row = rows[r].shifted(L::first_column());
      EDGEWISE_UNROLL
      for (int c = 0; c < kKeysOfLane; ++c) {
        const EdgeGradient edge = p.edge_gradient(score[r][c], gradient[r][c], (kept >> L::column(c) & 1) != 0, row,
                                                  records[r], L::column(c));
        shared.gradient[L::node(r)][L::other(c)] = edge.product;
        p.store_edge_bias(edge, row, L::column(c));
      }
    }
  }
};

}  // namespace edgewise::kernels::device
