// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "edgewise/kernels/attention/tile_products_cuda.h"

namespace edgewise::kernels::gpu {

/// Begins to copy the keys and values of a tile, and what `tiles` needs of it, to a stage of shared memory.
template <int kThreads, int kHeadSize, class Arguments, class Tiles, class Shared>
EDGEWISE_DEVICE void copy_keys_and_values(const Arguments& p, const Tiles& tiles, const typename Tiles::Tile& tile,
                                          Shared& shared, int stage) {
  copy_nodes<kThreads, kHeadSize>(p, p.key, tiles.nodes(tile), shared.key[stage]);
  copy_nodes<kThreads, kHeadSize>(p, p.value, tiles.nodes(tile), shared.value[stage]);
  tiles.begin_copy(tile);
  commit_copies();
}

/// Attention over the tiles that Edges has, as FlashAttention-2 (Dao 2023) computes it. The layout L divides the
/// products of a tile among threads: F32Layout, or Bf16Layout on tensor cores. Keys and values pass through shared
/// memory in tiles of kKeys; the next tile is copied meanwhile.
template <class L, int kHeadSize, class Edges>
struct TiledForward {
  using T = typename L::T;
  static constexpr const char* kName = tiled_kernel_names<L, Edges>().forward;
  static constexpr int kThreads = L::kThreads;
  static constexpr int kResidentBlocks = L::forward_blocks(kHeadSize);
  static constexpr int kRowsOfLane = L::kNodesOfLane;
  static constexpr int kKeys = L::kForwardKeys;
  static constexpr int kKeysOfLane = kKeys / L::kLanesOfNode;
  static constexpr int kStages = 2;
  static constexpr int kStride = L::stride(kHeadSize);
  static_assert(kHeadSize % 32 == 0);
  using Tiles = typename Edges::template RowTiles<L, kKeys>;
  using Tile = typename Tiles::Tile;
  using Row = typename Tiles::Row;
  using Scores = typename L::template Product<kKeys>;
  using Sums = typename L::template Sums<kHeadSize>;

  struct Shared : L::template NodeMemory<kHeadSize, 1>, L::ProductMemory {
    alignas(16) T key[kStages][kKeys][kStride];
    alignas(16) T value[kStages][kKeys][kStride];
    typename Tiles::Shared tiles;
  };

  AttentionArguments<T> p;
  Edges edges;

  EDGEWISE_DEVICE void operator()() const {
    Shared& shared = shared_memory<Shared>();
    const Tiles tiles(edges, block_index(), shared.tiles);
    typename L::template Nodes<kHeadSize> query(shared);
    Sums out = {};
    OnlineSoftmax softmax[kRowsOfLane];

    Tile tile = tiles.first();
    // Loaded also if there is no tile: with a condition, kernels with bitmaps spill registers on sm_80.
    query.load(p, p.query, {tiles.first_node(), p.num_destinations});
    commit_copies();
    if (tiles.has(tile)) begin_copy(tiles, tile, 0);
    for (int stage = 0; tiles.has(tile); stage = 1 - stage) {
      const Tile next = tiles.next(tile);
      wait_for_copies<0>();
      synchronize_block();  // all parts of this tile are here, and the tile before is no longer read
      if (tiles.has(next)) begin_copy(tiles, next, 1 - stage);
      Row rows[kRowsOfLane];
      const TileFill fill = tiles.find_rows(tile, rows);
      if (fill != TileFill::kNone) {
        Scores score = {};
        query.multiply(shared.key[stage], score);
        apply_softmax(fill, rows, score, softmax, out);
        L::template add_product<kHeadSize>(score, shared.value[stage], out, shared);
      }
      tile = next;
    }
    wait_for_copies<0>();  // a query without tiles has no other wait
    store(tiles.first_node(), softmax, out);
  }

 private:
  EDGEWISE_DEVICE void begin_copy(const Tiles& tiles, const Tile& tile, int stage) const {
    copy_keys_and_values<kThreads, kHeadSize>(p, tiles, tile, shared_memory<Shared>(), stage);
  }

  // Replaces the products of queries and keys by weights after dropout, and rescales the sums so far.
  EDGEWISE_DEVICE void apply_softmax(TileFill fill, const Row (&rows)[kRowsOfLane], Scores& score,
                                     OnlineSoftmax (&softmax)[kRowsOfLane], Sums& out) const {
    p.make_scores(fill, [&](const auto& change) {
      EDGEWISE_UNROLL
      for (int r = 0; r < kRowsOfLane; ++r) {
        const Row row = rows[r].shifted(L::first_column());
        EDGEWISE_UNROLL
        for (int i = 0; i < kKeysOfLane; ++i) change(L::at(score, r, i), row, L::column(i));
      }
    });
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      float maximum = softmax[r].maximum;
      EDGEWISE_UNROLL
      for (int i = 0; i < kKeysOfLane; ++i) maximum = Maximum()(L::at(score, r, i), maximum);
      const float factor = softmax[r].raise(reduce_lanes<L::kLanesOfNode>(maximum, Maximum()));
      EDGEWISE_UNROLL
      for (int i = 0; i < kKeysOfLane; ++i) {
        float& weight = L::at(score, r, i);
        weight = softmax[r].weight(weight);
        softmax[r].sum += weight;
      }
      L::scale(out, r, factor);
    }
    if (p.has_dropout()) drop(rows, score);
  }

  EDGEWISE_DEVICE void drop(const Row (&rows)[kRowsOfLane], Scores& weight) const {
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      const std::uint64_t kept = p.template kept_columns<kKeys, L::kLanesOfNode>(rows[r]) >> L::first_column();
      EDGEWISE_UNROLL
      for (int i = 0; i < kKeysOfLane; ++i) {
        if ((kept >> L::column(i) & 1) == 0) L::at(weight, r, i) = 0;
      }
    }
  }

  EDGEWISE_DEVICE void store(int first_row, const OnlineSoftmax (&softmax)[kRowsOfLane], const Sums& out) const {
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      OnlineSoftmax total = softmax[r];
      total.sum = reduce_lanes<L::kLanesOfNode>(total.sum, Sum());
      const int row = first_row + L::node(r);
      if (row >= p.num_destinations) continue;
      L::store(out, r, total.inverse_sum() * p.dropout_rule.scale(), p.out + p.template at<kHeadSize>(row));
      if (lane_index() % L::kLanesOfNode == 0) {
        p.log_normalizer[std::int64_t{row} * p.num_heads + p.head()] = total.log_normalizer();
      }
    }
  }
};

template <typename T>
using LayoutOf = std::conditional_t<std::is_same_v<T, float>, F32Layout, Bf16Layout>;

/// Returns whether there are kernels of attention over tiles for heads of this size.
constexpr bool has_tiled_kernels(std::int64_t head_size) {
  return head_size == 32 || head_size == 64 || head_size == 96 || head_size == 128;
}

/// Calls call<head_size>(), and returns its result.
template <class Call>
auto with_head_size(std::int64_t head_size, Call call) {
  switch (head_size) {
    case 32:
      return call.template operator()<32>();
    case 64:
      return call.template operator()<64>();
    case 96:
      return call.template operator()<96>();
    case 128:
      return call.template operator()<128>();
    default:
      throw std::invalid_argument("with_head_size: head_size is " + std::to_string(head_size) +
                                  ", needs 32, 64, 96 or 128");
  }
}

/// Begins the forward pass over the tiles of `edges` for `num_heads` heads of size `head_size`.
template <typename T, class Edges>
void launch_tiled_forward(const AttentionArguments<T>& p, const Edges& edges, std::int64_t head_size, int num_heads,
                          device::Stream stream) {
  with_head_size(head_size, [&]<int kHeadSize>() {
    launch(TiledForward<LayoutOf<T>, kHeadSize, Edges>{p, edges},
           Grid(num_blocks_for(p.num_destinations, kNodesOfBlock), num_heads), stream);
  });
}

}  // namespace edgewise::kernels::gpu
