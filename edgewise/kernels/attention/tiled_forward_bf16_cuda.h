// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/tile_products_bf16_cuda.h"

namespace edgewise::kernels::gpu {

/// Attention in bf16 on tensor cores: FlashAttention-2 (Dao 2023) over the tiles that Edges has. Each warp computes 16
/// rows; keys and values pass through shared memory in tiles of 64, of which the next one is copied meanwhile.
template <int kHeadSize, class Edges>
struct TiledForwardBf16 {
  using L = Bf16Layout;
  static constexpr const char* kName = Edges::kIsBitmap ? "tile_attention_bf16" : "interval_attention_bf16";
  static constexpr int kThreads = L::kThreads;
  static constexpr int kResidentBlocks = kHeadSize <= 64 ? 3 : 2;
  static constexpr int kKeys = 64;
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

  AttentionArguments<BFloat16> p;
  Edges edges;

  EDGEWISE_DEVICE void operator()() const {
    Shared& shared = shared_memory<Shared>();
    const Tiles tiles(edges, block_index(), shared.tiles);

    std::uint32_t query[kHeadSize / 16][4];
    load_nodes(p, p.query, p.num_destinations, tiles.first_node() + warp_index() * L::kNodesOfWarp, query);
    float out[kHeadSize / 8][4] = {};
    OnlineSoftmax softmax[kRowsOfLane];

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
        multiply_transposed(query, shared.key[stage], score);
        apply_softmax(fill, rows, score, softmax, out);
        add_product(score, shared.value[stage], out);
      }
      tile = next;
    }
    store(tiles.first_node(), softmax, out);
  }

 private:
  EDGEWISE_DEVICE void begin_copy(const Tiles& tiles, const Tile& tile, int stage) const {
    Shared& shared = shared_memory<Shared>();
    copy_nodes<kThreads, kHeadSize>(p, p.key, tiles.nodes(tile), shared.key[stage]);
    copy_nodes<kThreads, kHeadSize>(p, p.value, tiles.nodes(tile), shared.value[stage]);
    tiles.begin_copy(tile);
    commit_copies();
  }

  // Replaces the products of queries and keys by weights after dropout, and rescales the sums so far.
  EDGEWISE_DEVICE void apply_softmax(TileFill fill, const Row (&rows)[kRowsOfLane], float (&score)[kKeys / 8][4],
                                     OnlineSoftmax (&softmax)[kRowsOfLane], float (&out)[kHeadSize / 8][4]) const {
    p.make_scores(fill, [&](const auto& change) {
      EDGEWISE_UNROLL
      for (int r = 0; r < kRowsOfLane; ++r) {
        const Row row = rows[r].shifted(L::first_column());
        EDGEWISE_UNROLL
        for (int i = 0; i < kKeysOfLane; ++i) change(score[i / 2][r * 2 + i % 2], row, L::column(i));
      }
    });
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      float maximum = softmax[r].maximum;
      EDGEWISE_UNROLL
      for (int i = 0; i < kKeysOfLane; ++i) maximum = Maximum()(score[i / 2][r * 2 + i % 2], maximum);
      const float factor = softmax[r].raise(reduce_lanes<L::kLanesOfNode>(maximum, Maximum()));
      EDGEWISE_UNROLL
      for (int i = 0; i < kKeysOfLane; ++i) {
        float& value = score[i / 2][r * 2 + i % 2];
        value = softmax[r].weight(value);
        softmax[r].sum += value;
      }
      EDGEWISE_UNROLL
      for (int i = 0; i < kHeadSize / 8 * 2; ++i) out[i / 2][r * 2 + i % 2] *= factor;
    }
    if (p.has_dropout()) drop(rows, score);
  }

  EDGEWISE_DEVICE void drop(const Row (&rows)[kRowsOfLane], float (&weight)[kKeys / 8][4]) const {
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      const std::uint64_t kept = p.template kept_columns<kKeys, L::kLanesOfNode>(rows[r]) >> L::first_column();
      EDGEWISE_UNROLL
      for (int i = 0; i < kKeysOfLane; ++i) {
        if ((kept >> L::column(i) & 1) == 0) weight[i / 2][r * 2 + i % 2] = 0;
      }
    }
  }

  EDGEWISE_DEVICE void store(int first_row, const OnlineSoftmax (&softmax)[kRowsOfLane],
                             const float (&out)[kHeadSize / 8][4]) const {
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      OnlineSoftmax total = softmax[r];
      total.sum = reduce_lanes<L::kLanesOfNode>(total.sum, Sum());
      const int row = first_row + L::node(r);
      if (row >= p.num_destinations) continue;
      const float factor = total.inverse_sum() * p.dropout_rule.scale();
      store_row(r, out, factor, p.out + p.template at<kHeadSize>(row));
      if (lane_index() % L::kLanesOfNode == 0) {
        p.log_normalizer[std::int64_t{row} * p.num_heads + p.head()] = total.log_normalizer();
      }
    }
  }
};

}  // namespace edgewise::kernels::gpu
