// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/gradient_arguments_cuda.h"

namespace edgewise::kernels::gpu {

/// The gradients of queries and edge biases over the tiles that Edges has, with the layout L of TiledForward. Keys and
/// values pass through shared memory in tiles of kKeys; with two stages, the next tile is copied meanwhile.
template <class L, int kHeadSize, class Edges>
struct TiledQueryGradient {
  using T = typename L::T;
  static constexpr const char* kName = tiled_kernel_names<L, Edges>().query_gradient;
  static constexpr int kThreads = L::kThreads;
  static constexpr int kRowsOfLane = L::kNodesOfLane;
  static constexpr int kKeys = L::kGradientKeys;
  static constexpr int kKeysOfLane = kKeys / L::kLanesOfNode;
  static constexpr int kStages = L::kGradientStages;
  static constexpr int kStride = L::stride(kHeadSize);
  static_assert(kHeadSize % 32 == 0);
  using Tiles = typename Edges::template RowTiles<L, kKeys>;
  using Tile = typename Tiles::Tile;
  using Row = typename Tiles::Row;
  using Product = typename L::template Product<kKeys>;

  struct Shared : L::template NodeMemory<kHeadSize, 2>, L::ProductMemory {
    alignas(16) T key[kStages][kKeys][kStride];
    alignas(16) T value[kStages][kKeys][kStride];
    typename Tiles::Shared tiles;
  };

  GradientArguments<T> p;
  Edges edges;

  EDGEWISE_DEVICE void operator()() const {
    Shared& shared = shared_memory<Shared>();
    const Tiles tiles(edges, block_index(), shared.tiles);
    RowRecord records[kRowsOfLane];
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) records[r] = p.record(tiles.first_node() + L::node(r));
    typename L::template Nodes<kHeadSize> query(shared, 0);
    typename L::template Nodes<kHeadSize> grad_out(shared, 1);
    typename L::template Sums<kHeadSize> grad_query = {};

    Tile tile = tiles.first();
    if (tiles.has(tile)) {
      const ConsecutiveNodes rows_of_block = {tiles.first_node(), p.num_destinations};
      query.load(p, p.query, rows_of_block);
      grad_out.load(p, p.grad_out, rows_of_block);
      if constexpr (kStages == 2) begin_copy(tiles, tile, 0);
    }
    for (int stage = 0; tiles.has(tile); stage = kStages - 1 - stage) {
      Tile next = tile;
      if constexpr (kStages == 2) {
        next = tiles.next(tile);
      } else {
        begin_copy(tiles, tile, stage);
      }
      wait_copies<0>();
      synchronize_block();  // all parts of this tile are here, and the tile before is no longer read
      if constexpr (kStages == 2) {
        if (tiles.has(next)) begin_copy(tiles, next, 1 - stage);
      }
      Row rows[kRowsOfLane];
      const TileFill fill = tiles.find_rows(tile, rows);
      if (fill != TileFill::kNone) {
        Product score = {};
        Product gradient = {};
        query.multiply(shared.key[stage], score);
        grad_out.multiply(shared.value[stage], gradient);
        differentiate(fill, rows, records, score, gradient);
        L::template add_product<kHeadSize>(gradient, shared.key[stage], grad_query, shared);
      }
      if constexpr (kStages == 1) {
        synchronize_block();
        next = tiles.next(tile);
      }
      tile = next;
    }
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      const int row = tiles.first_node() + L::node(r);
      if (row >= p.num_destinations) continue;
      L::store(grad_query, r, p.product_scale, p.grad_query + p.template at<kHeadSize>(row));
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
                                     const RowRecord (&records)[kRowsOfLane], Product& score, Product& gradient) const {
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
          change(TileEdge<Row>{L::at(score, r, i), L::at(gradient, r, i), row, records[r], L::column(i), is_kept});
        }
      }
    });
  }
};

}  // namespace edgewise::kernels::gpu
