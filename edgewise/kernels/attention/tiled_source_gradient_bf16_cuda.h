// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/gradient_arguments_cuda.h"
#include "edgewise/kernels/attention/tile_products_bf16_cuda.h"

namespace edgewise::kernels::gpu {

/// The gradients of keys and values in bf16. Each warp computes 16 sources. Queries and gradients of `out` pass through
/// shared memory in tiles of 32 rows, of which the next one is copied meanwhile. Products are transposed: a lane's
/// numbers are of two sources. The values are in shared memory, because registers do not suffice for them and the keys.
template <int kHeadSize, class Edges>
struct TiledSourceGradientBf16 {
  using L = Bf16Layout;
  static constexpr const char* kName = Edges::kIsBitmap ? "tile_source_gradient_bf16" : "interval_source_gradient_bf16";
  static constexpr int kThreads = L::kThreads;
  static constexpr int kRows = kRowsOfTile;
  static constexpr int kPart = kHeadSize <= 96 ? 32 : 16;  // rows whose edges are in registers at once
  static constexpr int kParts = kRows / kPart;
  static constexpr int kStages = 2;
  static constexpr int kStride = L::stride(kHeadSize);
  static constexpr int kSourcesOfLane = L::kNodesOfLane;
  static_assert(kHeadSize % 32 == 0);
  static constexpr int kRowsOfLane = kPart / L::kLanesOfNode;
  using Tiles = typename Edges::template SourceTiles<L>;
  using Row = typename Tiles::Row;

  struct Shared {
    alignas(16) BFloat16 query[kStages][kParts][kPart][kStride];
    alignas(16) BFloat16 grad_out[kStages][kParts][kPart][kStride];
    alignas(16) BFloat16 value[kNodesOfBlock][kStride];
    typename Tiles::Shared tiles;
  };

  GradientArguments<BFloat16> p;
  Edges edges;

  EDGEWISE_DEVICE void operator()() const {
    Shared& shared = shared_memory<Shared>();
    const Tiles tiles(edges, block_index(), shared.tiles);
    std::uint32_t key[kHeadSize / 16][4];
    load_nodes(p, p.key, p.num_sources, tiles.first_node() + warp_index() * L::kNodesOfWarp, key);
    float grad_key[kHeadSize / 8][4] = {};
    float grad_value[kHeadSize / 8][4] = {};

    if (tiles.begin() < tiles.end()) {
      const ConsecutiveNodes sources_of_block = {tiles.first_node(), p.num_sources};
      copy_nodes<kThreads, kHeadSize>(p, p.value, sources_of_block, shared.value);
      begin_copy(tiles, tiles.begin(), 0);
    }
    int stage = 0;
    for (int tile = tiles.begin(); tile < tiles.end();) {
      const int next_tile = tiles.next(tile);
      wait_copies<0>();
      synchronize_block();  // all parts of this tile are here, and the tile before is no longer read
      if (next_tile < tiles.end()) begin_copy(tiles, next_tile, 1 - stage);
      const TileFill fill = tiles.fill(stage);
      if (fill != TileFill::kNone) {
        const auto kept =
            static_cast<std::uint32_t>(p.template kept_columns<L::kNodesOfWarp, 1>(tiles.row(stage, lane_index())));
        for (int part = 0; part < kParts; ++part) {
          float score[kPart / 8][4] = {};
          float gradient[kPart / 8][4] = {};
          multiply_transposed(key, shared.query[stage][part], score);
          multiply_shared_transposed<kHeadSize>(&shared.value[warp_index() * L::kNodesOfWarp],
                                                shared.grad_out[stage][part], gradient);
          differentiate(tiles, stage, part * kPart, fill, kept, score, gradient);
          add_product(score, shared.grad_out[stage][part], grad_value);
          add_product(gradient, shared.query[stage][part], grad_key);
        }
      }
      tile = next_tile;
      stage = 1 - stage;
    }
    store(tiles.first_node(), grad_key, grad_value);
  }

 private:
  EDGEWISE_DEVICE void begin_copy(const Tiles& tiles, int tile, int stage) const {
    Shared& shared = shared_memory<Shared>();
    for (int part = 0; part < kParts; ++part) {
      const auto rows = [&](int i) { return tiles.nodes(tile, stage)(part * kPart + i); };
      copy_nodes<kThreads, kHeadSize>(p, p.query, rows, shared.query[stage][part]);
      copy_nodes<kThreads, kHeadSize>(p, p.grad_out, rows, shared.grad_out[stage][part]);
    }
    tiles.begin_copy(p, tile, stage);
    commit_copies();
  }

  // Replaces the products of queries and keys by weights after dropout, and the gradients of weights by those of the
  // scaled products, for rows from `first` on of a tile. kept_of_lane is the sources whose edges to the lane's row
  // dropout keeps.
  EDGEWISE_DEVICE void differentiate(const Tiles& tiles, int stage, int first, TileFill fill,
                                     std::uint32_t kept_of_lane, float (&score)[kPart / 8][4],
                                     float (&gradient)[kPart / 8][4]) const {
    std::uint32_t kept[kRowsOfLane];
    EDGEWISE_UNROLL
    for (int i = 0; i < kRowsOfLane; ++i) kept[i] = shuffle(kept_of_lane, first + L::first_column() + L::column(i));
    p.template differentiate</*kStoresEdgeBias=*/false>(fill, [&](const auto& change) {
      EDGEWISE_UNROLL
      for (int i = 0; i < kRowsOfLane; ++i) {
        const int number = first + L::first_column() + L::column(i);
        const Row row = tiles.row(stage, number);
        const RowRecord record = tiles.record(stage, number);
        EDGEWISE_UNROLL
        for (int s = 0; s < kSourcesOfLane; ++s) {
          const int source = L::node_of_warp(s);
          const bool is_kept = (kept[i] >> source & 1) != 0;
          change(
              TileEdge<Row>{score[i / 2][s * 2 + i % 2], gradient[i / 2][s * 2 + i % 2], row, record, source, is_kept});
        }
      }
    });
  }

  EDGEWISE_DEVICE void store(int first_node, const float (&grad_key)[kHeadSize / 8][4],
                             const float (&grad_value)[kHeadSize / 8][4]) const {
    EDGEWISE_UNROLL
    for (int s = 0; s < kSourcesOfLane; ++s) {
      const int source = first_node + L::node(s);
      if (source >= p.num_sources) continue;
      const std::int64_t at = p.template at<kHeadSize>(source);
      store_row(s, grad_key, p.product_scale, p.grad_key + at);
      store_row(s, grad_value, p.dropout_rule.scale(), p.grad_value + at);
    }
  }
};

}  // namespace edgewise::kernels::gpu
