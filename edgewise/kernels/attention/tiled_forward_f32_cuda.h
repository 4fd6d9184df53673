// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/tile_products_f32_cuda.h"

namespace edgewise::kernels::device {

/// Attention in fp32. Keys and values pass through shared memory in tiles of 32, of which the next one is copied
/// meanwhile.
template <int kHeadSize, class Edges>
struct TiledForwardF32 {
  using L = F32Layout;
  static constexpr const char* kName = Edges::kIsBitmap ? "tile_attention_f32" : "interval_attention_f32";
  static constexpr int kThreads = L::kThreads;
  static constexpr int kRowsOfLane = L::kNodesOfLane;
  static constexpr int kKeys = L::kOthers;
  static constexpr int kKeysOfLane = L::kOthersOfLane;
  static constexpr int kStages = 2;
  static constexpr int kStride = L::stride(kHeadSize);
  static constexpr int kChunks = L::chunks(kHeadSize);
  static_assert(kHeadSize % 32 == 0);
  using Tiles = typename Edges::template RowTiles<L, kKeys>;
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
    const Tiles tiles(edges, p.block_of_head(), shared.tiles);
    float out[kRowsOfLane][kChunks][4] = {};
    OnlineSoftmax softmax[kRowsOfLane];

    if (tiles.count() > 0) {
      const ConsecutiveNodes rows_of_block = {tiles.first_node(), p.num_destinations};
      copy_nodes<kThreads, kHeadSize>(p, p.query, rows_of_block, shared.query);
      begin_copy(tiles, 0, 0);
    }
    int stage = 0;
    for (int tile = 0; tile < tiles.count(); ++tile) {
      wait_copies<0>();
      synchronize_block();  // all parts of this tile are here, and the tile before is no longer read
      if (tile + 1 < tiles.count()) begin_copy(tiles, tile + 1, 1 - stage);
      Row rows[kRowsOfLane];
      if (tiles.find_rows(tile, rows)) {
        float score[kRowsOfLane][kKeysOfLane] = {};
        multiply_transposed<kHeadSize>(shared.query, shared.key[stage], score);
        apply_softmax(rows, score, softmax, out);
        synchronize_warp();  // the weights are written; the next barrier is behind their last read
        add_product<kHeadSize>(shared.weight, shared.value[stage], out);
      }
      stage = 1 - stage;
    }
    store(tiles.first_node(), softmax, out);
  }

 private:
  EDGEWISE_DEVICE void begin_copy(const Tiles& tiles, int tile, int stage) const {
    Shared& shared = shared_memory<Shared>();
    copy_nodes<kThreads, kHeadSize>(p, p.key, tiles.nodes(tile), shared.key[stage]);
    copy_nodes<kThreads, kHeadSize>(p, p.value, tiles.nodes(tile), shared.value[stage]);
    tiles.begin_copy(tile);
    commit_copies();
  }

  // Writes the weights after dropout to shared memory, and rescales the sums so far.
  EDGEWISE_DEVICE void apply_softmax(const Row (&rows)[kRowsOfLane], float (&score)[kRowsOfLane][kKeysOfLane],
                                     OnlineSoftmax (&softmax)[kRowsOfLane],
                                     float (&out)[kRowsOfLane][kChunks][4]) const {
    Shared& shared = shared_memory<Shared>();
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      const Row row = rows[r].shifted(L::first_column());
      float maximum = softmax[r].maximum;
      EDGEWISE_UNROLL
      for (int c = 0; c < kKeysOfLane; ++c) {
        score[r][c] = p.score(score[r][c], row, L::column(c));
        maximum = Maximum()(score[r][c], maximum);
      }
      const float factor = softmax[r].raise(reduce_lanes<L::kLanesOfNode>(maximum, Maximum()));
      const std::uint64_t kept = p.template kept_columns<kKeys, L::kLanesOfNode>(rows[r]) >> L::first_column();
      EDGEWISE_UNROLL
      for (int c = 0; c < kKeysOfLane; ++c) {
        const float weight = softmax[r].weight(score[r][c]);
        softmax[r].sum += weight;
        shared.weight[L::node(r)][L::other(c)] = (kept >> L::column(c) & 1) != 0 ? weight : 0.0f;
      }
      EDGEWISE_UNROLL
      for (int i = 0; i < kChunks * 4; ++i) out[r][i / 4][i % 4] *= factor;
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

}  // namespace edgewise::kernels::device
