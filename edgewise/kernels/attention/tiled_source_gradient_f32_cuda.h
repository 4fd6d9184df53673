// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/gradient_arguments_cuda.h"
#include "edgewise/kernels/attention/tile_products_f32_cuda.h"

namespace edgewise::kernels::gpu {

/// The gradients of keys and values in fp32. Queries and gradients of `out` pass through shared memory in tiles of 32
/// rows. A second stage would leave memory for fewer blocks, which hide each other's copies.
template <int kHeadSize, class Edges>
struct TiledSourceGradientF32 {
  using L = F32Layout;
  static constexpr const char* kName = Edges::kIsBitmap ? "tile_source_gradient_f32" : "interval_source_gradient_f32";
  static constexpr int kThreads = L::kThreads;
  static constexpr int kSourcesOfLane = L::kNodesOfLane;
  static constexpr int kRows = L::kOthers;
  static constexpr int kRowsOfLane = L::kOthersOfLane;
  static constexpr int kStride = L::stride(kHeadSize);
  static_assert(kRows == kRowsOfTile && kHeadSize % 32 == 0);
  using Tiles = typename Edges::template SourceTiles<L>;
  using Row = typename Tiles::Row;

  struct Shared {
    alignas(16) float key[L::kNodes][kStride];
    alignas(16) float value[L::kNodes][kStride];
    alignas(16) float query[kRows][kStride];
    alignas(16) float grad_out[kRows][kStride];
    float edges[L::kNodes][L::kWeightStride];  // numbers of a tile's edges: first weights, then gradients of products
    typename Tiles::Shared tiles;
  };

  GradientArguments<float> p;
  Edges edges;

  EDGEWISE_DEVICE void operator()() const {
    Shared& shared = shared_memory<Shared>();
    const Tiles tiles(edges, block_index(), shared.tiles);
    float grad_key[kSourcesOfLane][L::chunks(kHeadSize)][4] = {};
    float grad_value[kSourcesOfLane][L::chunks(kHeadSize)][4] = {};

    if (tiles.begin() < tiles.end()) {
      const ConsecutiveNodes sources_of_block = {tiles.first_node(), p.num_sources};
      copy_nodes<kThreads, kHeadSize>(p, p.key, sources_of_block, shared.key);
      copy_nodes<kThreads, kHeadSize>(p, p.value, sources_of_block, shared.value);
    }
    int stage = 0;
    for (int tile = tiles.begin(); tile < tiles.end(); tile = tiles.next(tile)) {
      copy_nodes<kThreads, kHeadSize>(p, p.query, tiles.nodes(tile, stage), shared.query);
      copy_nodes<kThreads, kHeadSize>(p, p.grad_out, tiles.nodes(tile, stage), shared.grad_out);
      tiles.begin_copy(p, tile, stage);
      commit_copies();
      wait_copies<0>();
      synchronize_block();
      const TileFill fill = tiles.fill(stage);
      if (fill != TileFill::kNone) add_tile(tiles, stage, fill, grad_key, grad_value);
      synchronize_block();
      stage = 1 - stage;
    }
    store(tiles.first_node(), grad_key, grad_value);
  }

 private:
  EDGEWISE_DEVICE void add_tile(const Tiles& tiles, int stage, TileFill fill,
                                float (&grad_key)[kSourcesOfLane][L::chunks(kHeadSize)][4],
                                float (&grad_value)[kSourcesOfLane][L::chunks(kHeadSize)][4]) const {
    Shared& shared = shared_memory<Shared>();
    float score[kSourcesOfLane][kRowsOfLane] = {};
    float gradient[kSourcesOfLane][kRowsOfLane] = {};
    multiply_transposed<kHeadSize>(shared.key, shared.query, score);
    multiply_transposed<kHeadSize>(shared.value, shared.grad_out, gradient);
    differentiate(tiles, stage, fill, score, gradient);
    share(score);
    add_product<kHeadSize>(shared.edges, shared.grad_out, grad_value);
    synchronize_warp();
    share(gradient);
    add_product<kHeadSize>(shared.edges, shared.query, grad_key);
  }

  // Replaces the products of queries and keys by weights after dropout, and the gradients of weights by those of the
  // scaled products.
  EDGEWISE_DEVICE void differentiate(const Tiles& tiles, int stage, TileFill fill,
                                     float (&score)[kSourcesOfLane][kRowsOfLane],
                                     float (&gradient)[kSourcesOfLane][kRowsOfLane]) const {
    const auto kept_of_lane =
        static_cast<std::uint32_t>(p.template kept_columns<L::kNodesOfWarp, 1>(tiles.row(stage, lane_index())));
    std::uint32_t kept[kRowsOfLane];
    EDGEWISE_UNROLL
    for (int c = 0; c < kRowsOfLane; ++c) kept[c] = shuffle(kept_of_lane, L::other(c));
    p.template differentiate</*kStoresEdgeBias=*/false>(fill, [&](const auto& change) {
      EDGEWISE_UNROLL
      for (int c = 0; c < kRowsOfLane; ++c) {
        const Row row = tiles.row(stage, L::other(c));
        const RowRecord record = tiles.record(stage, L::other(c));
        EDGEWISE_UNROLL
        for (int s = 0; s < kSourcesOfLane; ++s) {
          const int source = L::node_of_warp(s);
          const bool is_kept = (kept[c] >> source & 1) != 0;
          change(TileEdge<Row>{score[s][c], gradient[s][c], row, record, source, is_kept});
        }
      }
    });
  }

  // Writes numbers of a tile's edges to shared memory for the lanes of the warp.
  EDGEWISE_DEVICE static void share(const float (&of_edges)[kSourcesOfLane][kRowsOfLane]) {
    Shared& shared = shared_memory<Shared>();
    EDGEWISE_UNROLL
    for (int s = 0; s < kSourcesOfLane; ++s) {
      EDGEWISE_UNROLL
      for (int c = 0; c < kRowsOfLane; ++c) shared.edges[L::node(s)][L::other(c)] = of_edges[s][c];
    }
    synchronize_warp();
  }

  EDGEWISE_DEVICE void store(int first_node, const float (&grad_key)[kSourcesOfLane][L::chunks(kHeadSize)][4],
                             const float (&grad_value)[kSourcesOfLane][L::chunks(kHeadSize)][4]) const {
    EDGEWISE_UNROLL
    for (int s = 0; s < kSourcesOfLane; ++s) {
      const int source = first_node + L::node(s);
      if (source >= p.num_sources) continue;
      const std::int64_t at = p.template at<kHeadSize>(source);
      store_row(grad_key[s], p.product_scale, p.grad_key + at);
      store_row(grad_value[s], p.dropout_rule.scale(), p.grad_value + at);
    }
  }
};

}  // namespace edgewise::kernels::gpu
