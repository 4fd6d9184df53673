// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/tile_products_f32_cuda.h"

namespace edgewise::kernels::gpu {

/// Attention in fp32. Keys and values pass through shared memory in tiles of 32, of which the next one is copied
/// meanwhile.
template <int kHeadSize, class Edges>
struct TiledForwardF32 {
  using L = F32Layout;
  static constexpr const char* kName = Edges::kIsBitmap ? "tile_attention_f32" : "interval_attention_f32";
  static constexpr int kThreads = L::kThreads;
  static constexpr int kResidentBlocks = kHeadSize <= 32 ? 3 : 2;
  static constexpr int kRowsOfLane = L::kNodesOfLane;
  static constexpr int kKeys = L::kOthers;
  static constexpr int kKeysOfLane = L::kOthersOfLane;
  static constexpr int kStages = 2;
  static constexpr int kStride = L::stride(kHeadSize);
  static constexpr int kChunks = L::chunks(kHeadSize);
  static_assert(kHeadSize % 32 == 0);
  using Tiles = typename Edges::template RowTiles<L, kKeys>;
  using Tile = typename Tiles::Tile;
  using Row = typename Tiles::Row;

  struct Shared {
    alignas(16) float query[L::kNodes][kStride];
    alignas(16) float key[kStages][kKeys][kStride];
    alignas(16) float value[kStages][kKeys][kStride];
    float weight[L::kNodes][L::kWeightStride];
    typename Tiles::Shared tiles;
  };

  AttentionArguments<float> p;
  Edges edges;

  EDGEWISE_DEVICE void operator()() const {
    Shared& shared = shared_memory<Shared>();
    const Tiles tiles(edges, block_index(), shared.tiles);
    float out[kRowsOfLane][kChunks][4] = {};
    OnlineSoftmax softmax[kRowsOfLane];

    Tile tile = tiles.first();
    if (tiles.has(tile)) {
      const ConsecutiveNodes rows_of_block = {tiles.first_node(), p.num_destinations};
      copy_nodes<kThreads, kHeadSize>(p, p.query, rows_of_block, shared.query);
      begin_copy(tiles, tile, 0);
    }
    for (int stage = 0; tiles.has(tile); stage = 1 - stage) {
      const Tile next = tiles.next(tile);
      wait_copies<0>();
      synchronize_block();  // all parts of this tile are here, and the tile before is no longer read
      if (tiles.has(next)) begin_copy(tiles, next, 1 - stage);
      Row rows[kRowsOfLane];
      const TileFill fill = tiles.find_rows(tile, rows);
      if (fill != TileFill::kNone) {
        float score[kRowsOfLane][kKeysOfLane] = {};
        multiply_transposed<kHeadSize>(shared.query, shared.key[stage], score);
        apply_softmax(fill, rows, score, softmax, out);
        synchronize_warp();  // the weights are written; the next barrier is behind their last read
        add_product<kHeadSize>(shared.weight, shared.value[stage], out);
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

  // Writes the weights after dropout to shared memory, and rescales the sums so far.
  EDGEWISE_DEVICE void apply_softmax(TileFill fill, const Row (&rows)[kRowsOfLane],
                                     float (&score)[kRowsOfLane][kKeysOfLane], OnlineSoftmax (&softmax)[kRowsOfLane],
                                     float (&out)[kRowsOfLane][kChunks][4]) const {
    p.make_scores(fill, [&](const auto& change) {
      EDGEWISE_UNROLL
      for (int r = 0; r < kRowsOfLane; ++r) {
        const Row row = rows[r].shifted(L::first_column());
        EDGEWISE_UNROLL
        for (int c = 0; c < kKeysOfLane; ++c) change(score[r][c], row, L::column(c));
      }
    });
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      float maximum = softmax[r].maximum;
      EDGEWISE_UNROLL
      for (int c = 0; c < kKeysOfLane; ++c) maximum = Maximum()(score[r][c], maximum);
      const float factor = softmax[r].raise(reduce_lanes<L::kLanesOfNode>(maximum, Maximum()));
      EDGEWISE_UNROLL
      for (int c = 0; c < kKeysOfLane; ++c) {
        score[r][c] = softmax[r].weight(score[r][c]);
        softmax[r].sum += score[r][c];
      }
      EDGEWISE_UNROLL
      for (int i = 0; i < kChunks * 4; ++i) out[r][i / 4][i % 4] *= factor;
    }
    if (p.has_dropout()) drop(rows, score);
    Shared& shared = shared_memory<Shared>();
    EDGEWISE_UNROLL
    for (int i = 0; i < kRowsOfLane * kKeysOfLane; ++i) {
      shared.weight[L::node(i / kKeysOfLane)][L::other(i % kKeysOfLane)] = score[i / kKeysOfLane][i % kKeysOfLane];
    }
  }

  EDGEWISE_DEVICE void drop(const Row (&rows)[kRowsOfLane], float (&weight)[kRowsOfLane][kKeysOfLane]) const {
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      const std::uint64_t kept = p.template kept_columns<kKeys, L::kLanesOfNode>(rows[r]) >> L::first_column();
      EDGEWISE_UNROLL
      for (int c = 0; c < kKeysOfLane; ++c) {
        if ((kept >> L::column(c) & 1) == 0) weight[r][c] = 0;
      }
    }
  }

  EDGEWISE_DEVICE void store(int first_row, const OnlineSoftmax (&softmax)[kRowsOfLane],
                             const float (&out)[kRowsOfLane][kChunks][4]) const {
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      OnlineSoftmax total = softmax[r];
      total.sum = reduce_lanes<L::kLanesOfNode>(total.sum, Sum());
      const int row = first_row + L::node(r);
      if (row >= p.num_destinations) continue;
      store_row(out[r], total.inverse_sum() * p.dropout_rule.scale(), p.out + p.template at<kHeadSize>(row));
      if (lane_index() % L::kLanesOfNode == 0) {
        p.log_normalizer[std::int64_t{row} * p.num_heads + p.head()] = total.log_normalizer();
      }
    }
  }
};

}  // namespace edgewise::kernels::gpu
