// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/gradient_arguments_cuda.h"
#include "edgewise/kernels/attention/tile_products_f32_cuda.h"

namespace edgewise::kernels::gpu {

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
  using Tile = typename Tiles::Tile;
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
    const Tiles tiles(edges, block_index(), shared.tiles);
    RowRecord records[kRowsOfLane];
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) records[r] = p.record(tiles.first_node() + L::node(r));
    float grad_query[kRowsOfLane][L::chunks(kHeadSize)][4] = {};

    if (tiles.has(tiles.first())) {
      const ConsecutiveNodes rows_of_block = {tiles.first_node(), p.num_destinations};
      copy_nodes<kThreads, kHeadSize>(p, p.query, rows_of_block, shared.query);
      copy_nodes<kThreads, kHeadSize>(p, p.grad_out, rows_of_block, shared.grad_out);
    }
    for (Tile tile = tiles.first(); tiles.has(tile); tile = tiles.next(tile)) {
      copy_nodes<kThreads, kHeadSize>(p, p.key, tiles.nodes(tile), shared.key);
      copy_nodes<kThreads, kHeadSize>(p, p.value, tiles.nodes(tile), shared.value);
      tiles.begin_copy(tile);
      commit_copies();
      wait_copies<0>();
      synchronize_block();
      Row rows[kRowsOfLane];
      const TileFill fill = tiles.find_rows(tile, rows);
      if (fill != TileFill::kNone) {
        float score[kRowsOfLane][kKeysOfLane] = {};
        float gradient[kRowsOfLane][kKeysOfLane] = {};
        multiply_transposed<kHeadSize>(shared.query, shared.key, score);
        multiply_transposed<kHeadSize>(shared.grad_out, shared.value, gradient);
        differentiate(fill, rows, records, score, gradient);
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
  // products of queries and keys, and `gradient` the gradients of weights; both are changed.
  EDGEWISE_DEVICE void differentiate(TileFill fill, const Row (&rows)[kRowsOfLane],
                                     const RowRecord (&records)[kRowsOfLane], float (&score)[kRowsOfLane][kKeysOfLane],
                                     float (&gradient)[kRowsOfLane][kKeysOfLane]) const {
    std::uint32_t kept[kRowsOfLane];
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      kept[r] =
          static_cast<std::uint32_t>(p.template kept_columns<kKeys, L::kLanesOfNode>(rows[r])) >> L::first_column();
    }
    p.template differentiate</*kStoresEdgeBias=*/true>(fill, [&](const auto& change) {
      EDGEWISE_UNROLL
      for (int r = 0; r < kRowsOfLane; ++r) {
        const Row row = rows[r].shifted(L::first_column());
        EDGEWISE_UNROLL
        for (int c = 0; c < kKeysOfLane; ++c) {
          const bool is_kept = (kept[r] >> L::column(c) & 1) != 0;
          change(TileEdge<Row>{score[r][c], gradient[r][c], row, records[r], L::column(c), is_kept});
        }
      }
    });
    Shared& shared = shared_memory<Shared>();
    EDGEWISE_UNROLL
    for (int i = 0; i < kRowsOfLane * kKeysOfLane; ++i) {
      shared.gradient[L::node(i / kKeysOfLane)][L::other(i % kKeysOfLane)] = gradient[i / kKeysOfLane][i % kKeysOfLane];
    }
  }
};

}  // namespace edgewise::kernels::gpu
