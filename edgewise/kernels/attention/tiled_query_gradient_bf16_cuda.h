// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/gradient_arguments_cuda.h"
#include "edgewise/kernels/attention/tile_products_bf16_cuda.h"

namespace edgewise::kernels::device {

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
    const Tiles tiles(edges, p.block_of_head(), shared.tiles);
    const int first_row = tiles.first_node() + warp_index() * L::kNodesOfWarp;
    const RowRecord records[kRowsOfLane] = {p.record(tiles.first_node() + L::node(0)),
                                            p.record(tiles.first_node() + L::node(1))};

    std::uint32_t query[kHeadSize / 16][4];
    std::uint32_t grad_out[kHeadSize / 16][4];
    load_nodes(p, p.query, p.num_destinations, first_row, query);
    load_nodes(p, p.grad_out, p.num_destinations, first_row, grad_out);
    float grad_query[kHeadSize / 8][4] = {};

    if (tiles.count() > 0) begin_copy(tiles, 0, 0);
    int stage = 0;
    for (int tile = 0; tile < tiles.count(); ++tile) {
      wait_copies<0>();
      synchronize_block();  // all parts of this tile are here, and the tile before is no longer read
      if (tile + 1 < tiles.count()) begin_copy(tiles, tile + 1, 1 - stage);
      Row rows[kRowsOfLane];
      if (tiles.find_rows(tile, rows)) {
        float score[kKeys / 8][4] = {};
        float gradient[kKeys / 8][4] = {};
        multiply_transposed(query, shared.key[stage], score);
        multiply_transposed(grad_out, shared.value[stage], gradient);
        differentiate(rows, records, score, gradient);
        add_product(gradient, shared.key[stage], grad_query);
      }
      stage = 1 - stage;
    }
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      const int row = tiles.first_node() + L::node(r);
      if (row >= p.num_destinations) continue;
      store_row(r, grad_query, p.product_scale, p.grad_query + p.template at<kHeadSize>(row));
    }
  }

 private:
  EDGEWISE_DEVICE void begin_copy(const Tiles& tiles, int tile, int stage) const {
    Shared& shared = shared_memory<Shared>();
    copy_nodes<kThreads, kHeadSize>(p, p.key, tiles.nodes(tile), shared.key[stage]);
    copy_nodes<kThreads, kHeadSize>(p, p.value, tiles.nodes(tile), shared.value[stage]);
    tiles.begin_copy(tile);
    commit_copies();
  }

  // Replaces the gradients of weights by those of the scaled products, and stores the gradients of edge biases. `score`
  // is the products of queries and keys.
  EDGEWISE_DEVICE void differentiate(const Row (&rows)[kRowsOfLane], const RowRecord (&records)[kRowsOfLane],
                                     const float (&score)[kKeys / 8][4], float (&gradient)[kKeys / 8][4]) const {
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      const auto kept =
          static_cast<std::uint32_t>(p.template kept_columns<kKeys, L::kLanesOfNode>(rows[r])) >> L::first_column();
      const Row row = rows[r].shifted(L::first_column());
      EDGEWISE_UNROLL
      for (int i = 0; i < kKeysOfLane; ++i) {
        float& value = gradient[i / 2][r * 2 + i % 2];
        const EdgeGradient edge = p.edge_gradient(score[i / 2][r * 2 + i % 2], value, (kept >> L::column(i) & 1) != 0,
                                                  row, records[r], L::column(i));
        value = edge.product;
        p.store_edge_bias(edge, row, L::column(i));
      }
    }
  }
};

}  // namespace edgewise::kernels::device
