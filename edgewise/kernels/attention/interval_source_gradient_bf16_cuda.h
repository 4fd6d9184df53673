// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/interval_gradients_cuda.h"
#include "edgewise/kernels/attention/interval_products_bf16_cuda.h"

namespace edgewise::kernels::device {

/// The gradients of keys and values in bf16. Each warp computes 16 sources. Queries and gradients of `out` pass through
/// shared memory in tiles of 32 rows, of which the next one is copied meanwhile. Products are transposed: a lane's
/// numbers are of two sources. The values are in shared memory, because registers do not suffice for them and the keys.
template <int kHeadSize>
struct IntervalSourceGradientBf16 {
  static constexpr const char* kName = "interval_source_gradient_bf16";
  static constexpr int kThreads = 128;
  static constexpr int kWarps = kThreads / kWarpSize;
  static constexpr int kRows = IntervalGradients<BFloat16>::kRowsOfTile;
  static constexpr int kPart = kHeadSize <= 96 ? 32 : 16;  // rows whose edges are in registers at once
  static constexpr int kParts = kRows / kPart;
  static constexpr int kStages = 2;
  static constexpr int kStride = kHeadSize + 8;  // 8 rows of a matrix lie in different banks
  static constexpr int kSourcesOfWarp = 16;
  static constexpr int kSourcesOfLane = 2;
  static_assert(IntervalArguments<BFloat16>::kNodesOfBlock == kWarps * kSourcesOfWarp && kHeadSize % 32 == 0);

  struct Shared {
    alignas(16) BFloat16 query[kStages][kParts][kPart][kStride];
    alignas(16) BFloat16 grad_out[kStages][kParts][kPart][kStride];
    alignas(16) BFloat16 value[kWarps * kSourcesOfWarp][kStride];
    RowsOfTile<kRows> rows[kStages];
    int partial[kWarps];
  };

  IntervalGradients<BFloat16> p;

  EDGEWISE_DEVICE void operator()() const {
    Shared& shared = shared_memory<Shared>();
    const TileRange tiles = p.template tiles_of_sources<kThreads>(p.first_node(), shared.partial);
    std::uint32_t key[kHeadSize / 16][4];
    load_nodes(p, p.key, p.num_sources, first_source(), key);
    float grad_key[kHeadSize / 8][4] = {};
    float grad_value[kHeadSize / 8][4] = {};

    if (tiles.begin < tiles.end) {
      copy_nodes<kThreads, kHeadSize>(p, p.value, p.num_sources, p.first_node(), shared.value);
      begin_copy(tiles.begin, 0);
    }
    int stage = 0;
    for (int tile = tiles.begin; tile < tiles.end;) {
      const int next_tile = p.next_tile(tile + 1, tiles.end, p.first_node());
      wait_copies<0>();
      synchronize_block();  // all parts of this tile are here, and the tile before is no longer read
      if (next_tile < tiles.end) begin_copy(next_tile, 1 - stage);
      if (shared.rows[stage].has_edges(first_source(), kSourcesOfWarp)) {
        const std::uint32_t kept = shared.rows[stage].kept_sources(p, first_source());
        for (int part = 0; part < kParts; ++part) {
          float score[kPart / 8][4] = {};
          float gradient[kPart / 8][4] = {};
          multiply_transposed(key, shared.query[stage][part], score);
          multiply_shared_transposed<kHeadSize>(&shared.value[warp_index() * kSourcesOfWarp],
                                                shared.grad_out[stage][part], gradient);
          differentiate(shared.rows[stage], part * kPart, kept, score, gradient);
          add_product(score, shared.grad_out[stage][part], grad_value);
          add_product(gradient, shared.query[stage][part], grad_key);
        }
      }
      tile = next_tile;
      stage = 1 - stage;
    }
    store(grad_key, grad_value);
  }

 private:
  EDGEWISE_DEVICE int first_source() const { return p.first_node() + warp_index() * kSourcesOfWarp; }
  EDGEWISE_DEVICE static int source_of_warp(int i) { return lane_index() / 4 + i * 8; }

  EDGEWISE_DEVICE void begin_copy(int tile, int stage) const {
    Shared& shared = shared_memory<Shared>();
    for (int part = 0; part < kParts; ++part) {
      const int first_row = tile * kRows + part * kPart;
      copy_nodes<kThreads, kHeadSize>(p, p.query, p.num_destinations, first_row, shared.query[stage][part]);
      copy_nodes<kThreads, kHeadSize>(p, p.grad_out, p.num_destinations, first_row, shared.grad_out[stage][part]);
    }
    shared.rows[stage].begin_copy(p, tile * kRows);
    commit_copies();
  }

  // Replaces the products of queries and keys by weights after dropout, and the gradients of weights by those of the
  // scaled products, for rows from `first` on of a tile. kept_of_lane is kept_sources().
  EDGEWISE_DEVICE void differentiate(const RowsOfTile<kRows>& rows, int first, std::uint32_t kept_of_lane,
                                     float (&score)[kPart / 8][4], float (&gradient)[kPart / 8][4]) const {
    EDGEWISE_UNROLL
    for (int i = 0; i < kPart / 8 * 2; ++i) {
      const int row = first + i / 2 * 8 + lane_index() % 4 * 2 + i % 2;
      const std::uint32_t kept = shuffle(kept_of_lane, row);
      const IntervalRow interval = rows.row(row);
      const RowRecord record = rows.records[row];
      EDGEWISE_UNROLL
      for (int s = 0; s < kSourcesOfLane; ++s) {
        const int source = source_of_warp(s);
        float& weight = score[i / 2][s * 2 + i % 2];
        float& value = gradient[i / 2][s * 2 + i % 2];
        const EdgeGradient edge =
            p.edge_gradient(weight, value, (kept >> source & 1) != 0, interval, record, first_source() + source);
        weight = edge.weight;
        value = edge.product;
      }
    }
  }

  EDGEWISE_DEVICE void store(const float (&grad_key)[kHeadSize / 8][4],
                             const float (&grad_value)[kHeadSize / 8][4]) const {
    EDGEWISE_UNROLL
    for (int s = 0; s < kSourcesOfLane; ++s) {
      const int source = first_source() + source_of_warp(s);
      if (source >= p.num_sources) continue;
      const std::int64_t at = p.template at<kHeadSize>(source);
      store_row(s, grad_key, p.product_scale, p.grad_key + at);
      store_row(s, grad_value, p.dropout_rule.scale(), p.grad_value + at);
    }
  }
};

}  // namespace edgewise::kernels::device
