// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "edgewise/kernels/attention/tiled_forward_cuda.h"

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
      wait_for_copies<0>();
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
    copy_keys_and_values<kThreads, kHeadSize>(p, tiles, tile, shared_memory<Shared>(), stage);
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

/// The gradients of keys and values over the tiles that Edges has, with the layout L of TiledForward. Products are
/// transposed: a thread's nodes are sources. Queries and gradients of `out` pass through shared memory in tiles of 32
/// rows; with two stages, the next tile is copied meanwhile. The values are in shared memory with either layout,
/// because registers do not suffice for them and the keys.
template <class L, int kHeadSize, class Edges>
struct TiledSourceGradient {
  using T = typename L::T;
  static constexpr const char* kName = tiled_kernel_names<L, Edges>().source_gradient;
  static constexpr int kThreads = L::kThreads;
  static constexpr int kPart = L::rows_of_part(kHeadSize);
  static constexpr int kParts = kRowsOfTile / kPart;
  static constexpr int kStages = L::kGradientStages;
  static constexpr int kStride = L::stride(kHeadSize);
  static constexpr int kSourcesOfLane = L::kNodesOfLane;
  static constexpr int kRowsOfLane = kPart / L::kLanesOfNode;
  static_assert(kHeadSize % 32 == 0);
  using Tiles = typename Edges::template SourceTiles<L>;
  using Row = typename Tiles::Row;
  using Product = typename L::template Product<kPart>;
  using Sums = typename L::template Sums<kHeadSize>;

  struct Shared : L::template NodeMemory<kHeadSize, 1>, L::ProductMemory {
    alignas(16) T query[kStages][kParts][kPart][kStride];
    alignas(16) T grad_out[kStages][kParts][kPart][kStride];
    alignas(16) T value[kNodesOfBlock][kStride];
    typename Tiles::Shared tiles;
  };

  GradientArguments<T> p;
  Edges edges;

  EDGEWISE_DEVICE void operator()() const {
    Shared& shared = shared_memory<Shared>();
    const Tiles tiles(edges, block_index(), shared.tiles);
    typename L::template Nodes<kHeadSize> key(shared);
    Sums grad_key = {};
    Sums grad_value = {};

    if (tiles.begin() < tiles.end()) {
      const ConsecutiveNodes sources_of_block = {tiles.first_node(), p.num_sources};
      key.load(p, p.key, sources_of_block);
      copy_nodes<kThreads, kHeadSize>(p, p.value, sources_of_block, shared.value);
      if constexpr (kStages == 2) begin_copy(tiles, tiles.begin(), 0);
    }
    int stage = 0;
    for (int tile = tiles.begin(); tile < tiles.end();) {
      int next = tile;
      if constexpr (kStages == 2) {
        next = tiles.next(tile);
      } else {
        begin_copy(tiles, tile, stage);
      }
      wait_for_copies<0>();
      synchronize_block();  // all parts of this tile are here, and the tile before is no longer read
      if constexpr (kStages == 2) {
        if (next < tiles.end()) begin_copy(tiles, next, 1 - stage);
      }
      const TileFill fill = tiles.fill(stage);
      if (fill != TileFill::kNone) add_tile(tiles, stage, fill, key, grad_key, grad_value);
      if constexpr (kStages == 1) {
        synchronize_block();
        next = tiles.next(tile);
      }
      tile = next;
      stage = 1 - stage;
    }
    store(tiles.first_node(), grad_key, grad_value);
  }

 private:
  // The buffer of queries of a stage; the numbers of a tile have two stages in any case.
  static constexpr int buffer(int stage) { return kStages == 2 ? stage : 0; }

  EDGEWISE_DEVICE void begin_copy(const Tiles& tiles, int tile, int stage) const {
    Shared& shared = shared_memory<Shared>();
    for (int part = 0; part < kParts; ++part) {
      const auto rows = [&](int i) { return tiles.nodes(tile, stage)(part * kPart + i); };
      copy_nodes<kThreads, kHeadSize>(p, p.query, rows, shared.query[buffer(stage)][part]);
      copy_nodes<kThreads, kHeadSize>(p, p.grad_out, rows, shared.grad_out[buffer(stage)][part]);
    }
    tiles.begin_copy(p, tile, stage);
    commit_copies();
  }

  EDGEWISE_DEVICE void add_tile(const Tiles& tiles, int stage, TileFill fill,
                                const typename L::template Nodes<kHeadSize>& key, Sums& grad_key,
                                Sums& grad_value) const {
    Shared& shared = shared_memory<Shared>();
    const auto kept =
        static_cast<std::uint32_t>(p.template kept_columns<L::kNodesOfWarp, 1>(tiles.row(stage, lane_index())));
    for (int part = 0; part < kParts; ++part) {
      const auto& query = shared.query[buffer(stage)][part];
      const auto& grad_out = shared.grad_out[buffer(stage)][part];
      Product score = {};
      Product gradient = {};
      key.multiply(query, score);
      L::template multiply_shared<kHeadSize>(shared.value, grad_out, gradient);
      differentiate(tiles, stage, part * kPart, fill, kept, score, gradient);
      L::template add_product<kHeadSize>(score, grad_out, grad_value, shared);
      L::end_product();
      L::template add_product<kHeadSize>(gradient, query, grad_key, shared);
    }
  }

  // Replaces the products of queries and keys by weights after dropout, and the gradients of weights by those of the
  // scaled products, for rows from `first` on of a tile. kept_of_lane is the sources whose edges to the lane's row
  // dropout keeps.
  EDGEWISE_DEVICE void differentiate(const Tiles& tiles, int stage, int first, TileFill fill,
                                     std::uint32_t kept_of_lane, Product& score, Product& gradient) const {
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
          change(TileEdge<Row>{L::at(score, s, i), L::at(gradient, s, i), row, record, source, is_kept});
        }
      }
    });
  }

  EDGEWISE_DEVICE void store(int first_node, const Sums& grad_key, const Sums& grad_value) const {
    EDGEWISE_UNROLL
    for (int s = 0; s < kSourcesOfLane; ++s) {
      const int source = first_node + L::node(s);
      if (source >= p.num_sources) continue;
      const std::int64_t at = p.template at<kHeadSize>(source);
      L::store(grad_key, s, p.product_scale, p.grad_key + at);
      L::store(grad_value, s, p.dropout_rule.scale(), p.grad_value + at);
    }
  }
};

/// Begins the backward pass over the tiles of `edges` for `num_heads` heads of size `head_size`.
template <typename T, class Edges>
void launch_tiled_backward(const GradientArguments<T>& p, const Edges& edges, std::int64_t head_size, int num_heads,
                           device::Stream stream) {
  const auto grid_for = [&](int num_nodes, int nodes_of_block) {
    return Grid(num_blocks_for(num_nodes, nodes_of_block), num_heads);
  };
  with_head_size(head_size, [&]<int kHeadSize>() {
    launch(RowRecords<kHeadSize, T, Edges>{p, edges}, grid_for(p.num_destinations, kRowsOfTile), stream);
    launch(TiledQueryGradient<LayoutOf<T>, kHeadSize, Edges>{p, edges}, grid_for(p.num_destinations, kNodesOfBlock),
           stream);
    launch(TiledSourceGradient<LayoutOf<T>, kHeadSize, Edges>{p, edges}, grid_for(p.num_sources, kNodesOfBlock),
           stream);
  });
}

/// Returns whether there are kernels over the tiles of Edges for heads of this size, forward and backward, whose blocks
/// have enough shared memory on the current GPU.
template <typename T, class Edges>
bool can_start_tiled_kernels(std::int64_t head_size) {
  return has_tiled_kernels(head_size) &&
         with_head_size(head_size, [&]<int kHeadSize>() {
           return std::max({sizeof(typename TiledForward<LayoutOf<T>, kHeadSize, Edges>::Shared),
                            sizeof(typename TiledQueryGradient<LayoutOf<T>, kHeadSize, Edges>::Shared),
                            sizeof(typename TiledSourceGradient<LayoutOf<T>, kHeadSize, Edges>::Shared)});
         }) <= device::max_shared_memory();
}

}  // namespace edgewise::kernels::gpu
