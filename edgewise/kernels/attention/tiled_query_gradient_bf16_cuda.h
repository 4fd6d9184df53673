// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/gradient_arguments_cuda.h"
#include "edgewise/kernels/attention/tile_products_bf16_cuda.h"

namespace edgewise::kernels::gpu {

/// The gradients of queries and edge biases in bf16. Like in TiledForwardBf16, each warp computes 16 rows, and keys and
/// values pass through shared memory.
template <int kHeadSize, class Edges>
struct TiledQueryGradientBf16 {
  using L = Bf16Layout;
  static constexpr const char* kName = Edges::kIsBitmap ? "tile_query_gradient_bf16" : "interval_query_gradient_bf16";
  static constexpr int kThreads = L::kThreads;
  static constexpr int kKeys = 32;
  static constexpr int kKeysOfLane = kKeys / L::kLanesOfNode;
  static constexpr int kStages = 2;
  static constexpr int kStride = L::stride(kHeadSize);
  static constexpr int kRowsOfLane = L::kNodesOfLane;
  static_assert(kHeadSize % 32 == 0);
  using Tiles = typename Edges::template RowTiles<L, kKeys>;
  using Tile = typename Tiles::Tile;
  using Row = typename Tiles::Row;

  struct Shared {
    alignas(16) BFloat16 key[kStages][kKeys][kStride];
    alignas(16) BFloat16 value[kStages][kKeys][kStride];
    typename Tiles::Shared tiles;
  };

  GradientArguments<BFloat16> p;
  Edges edges;

  EDGEWISE_DEVICE void operator()() const {
    Shared& shared = shared_memory<Shared>();
    const Tiles tiles(edges, block_index(), shared.tiles);
    const int first_row = tiles.first_node() + warp_index() * L::kNodesOfWarp;
    const RowRecord records[kRowsOfLane] = {p.record(tiles.first_node() + L::node(0)),
                                            p.record(tiles.first_node() + L::node(1))};

    std::uint32_t query[kHeadSize / 16][4];
    std::uint32_t grad_out[kHeadSize / 16][4];
    load_nodes(p, p.query, p.num_destinations, first_row, query);
    load_nodes(p, p.grad_out, p.num_destinations, first_row, grad_out);
    float grad_query[kHeadSize / 8][4] = {};

    Tile tile = tiles.first();
    if (tiles.has(tile)) begin_copy(tiles, tile, 0);
    for (int stage = 0; tiles.has(tile); stage = 1 - stage) {
      const Tile next = tiles.next(tile);
      wait_copies<0>();
      synchronize_block();  // all parts of this tile are here, and the tile before is no longer read
      if (tiles.has(next)) begin_copy(tiles, next, 1 - stage);
      Row rows[kRowsOfLane];
      const TileFill fill = tiles.find_rows(tile, rows);
      if (fill != TileFill::kNone) {
        float score[kKeys / 8][4] = {};
        float gradient[kKeys / 8][4] = {};
        multiply_transposed(query, shared.key[stage], score);
        multiply_transposed(grad_out, shared.value[stage], gradient);
        differentiate(fill, rows, records, score, gradient);
        add_product(gradient, shared.key[stage], grad_query);
      }
      tile = next;
    }
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      const int row = tiles.first_node() + L::node(r);
      if (row >= p.num_destinations) continue;
      store_row(r, grad_query, p.product_scale, p.grad_query + p.template at<kHeadSize>(row));
    }
  }

 private:
  EDGEWISE_DEVICE void begin_copy(const Tiles& tiles, const Tile& tile, int stage) const {
    Shared& shared = shared_memory<Shared>();
    copy_nodes<kThreads, kHeadSize>(p, p.key, tiles.nodes(tile), shared.key[stage]);
    copy_nodes<kThreads, kHeadSize>(p, p.value, tiles.nodes(tile), shared.value[stage]);
    tiles.begin_copy(tile);
    commit_copies();
  }

  // Replaces the gradients of weights by those of the scaled products, and stores the gradients of edge biases. `score`
  // is the products of queries and keys, and is changed, too.
  EDGEWISE_DEVICE void differentiate(TileFill fill, const Row (&rows)[kRowsOfLane],
                                     const RowRecord (&records)[kRowsOfLane], float (&score)[kKeys / 8][4],
                                     float (&gradient)[kKeys / 8][4]) const {
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
        for (int i = 0; i < kKeysOfLane; ++i) {
          const bool is_kept = (kept[r] >> L::column(i) & 1) != 0;
          change(TileEdge<Row>{score[i / 2][r * 2 + i % 2], gradient[i / 2][r * 2 + i % 2], row, records[r],
                               L::column(i), is_kept});
        }
      }
    });
  }
};

}  // namespace edgewise::kernels::gpu
