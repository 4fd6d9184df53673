// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/interval_gradients_cuda.h"
#include "edgewise/kernels/attention/interval_products_bf16_cuda.h"

namespace edgewise::kernels::device {

/// The gradients of queries and edge biases in bf16. Like in IntervalAttentionBf16, each warp computes 16 rows, and
/// keys and values pass through shared memory.
template <int kHeadSize>
struct IntervalQueryGradientBf16 {
  static constexpr const char* kName = "interval_query_gradient_bf16";
  static constexpr int kThreads = 128;
  static constexpr int kWarps = kThreads / kWarpSize;
  static constexpr int kKeys = 32;
  static constexpr int kStages = 2;
  static constexpr int kStride = kHeadSize + 8;  // 8 rows of a matrix lie in different banks
  static constexpr int kRowsOfLane = 2;
  static constexpr int kLanesOfRow = 4;
  static_assert(IntervalArguments<BFloat16>::kNodesOfBlock == kWarps * 16 && kHeadSize % 32 == 0);

  struct Shared {
    alignas(16) BFloat16 key[kStages][kKeys][kStride];
    alignas(16) BFloat16 value[kStages][kKeys][kStride];
    KeyRange of_warps[kWarps];
  };

  IntervalGradients<BFloat16> p;

  EDGEWISE_DEVICE void operator()() const {
    Shared& shared = shared_memory<Shared>();
    const IntervalRow rows[kRowsOfLane] = {p.row(row_number(0)), p.row(row_number(1))};
    const RowRecord records[kRowsOfLane] = {p.record(row_number(0)), p.record(row_number(1))};
    const KeyRange of_warp = keys_of_warp(join({rows[0].begin, rows[0].end}, {rows[1].begin, rows[1].end}));
    const KeyRange of_block = keys_of_block(of_warp, shared.of_warps);

    std::uint32_t query[kHeadSize / 16][4];
    std::uint32_t grad_out[kHeadSize / 16][4];
    load_nodes(p, p.query, p.num_destinations, first_row(), query);
    load_nodes(p, p.grad_out, p.num_destinations, first_row(), grad_out);
    float grad_query[kHeadSize / 8][4] = {};

    if (!of_block.is_empty()) begin_copy(of_block.begin, 0);
    int stage = 0;
    for (int first_key = of_block.begin; first_key < of_block.end; first_key += kKeys) {
      wait_copies<0>();
      synchronize_block();  // all parts of this tile are here, and the tile before is no longer read
      if (first_key + kKeys < of_block.end) begin_copy(first_key + kKeys, 1 - stage);
      if (of_warp.overlaps(first_key, kKeys)) {
        float score[kKeys / 8][4] = {};
        float gradient[kKeys / 8][4] = {};
        multiply_transposed(query, shared.key[stage], score);
        multiply_transposed(grad_out, shared.value[stage], gradient);
        differentiate(rows, records, first_key, score, gradient);
        add_product(gradient, shared.key[stage], grad_query);
      }
      stage = 1 - stage;
    }
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      if (row_number(r) >= p.num_destinations) continue;
      store_row(r, grad_query, p.product_scale, p.grad_query + p.template at<kHeadSize>(row_number(r)));
    }
  }

 private:
  EDGEWISE_DEVICE int first_row() const { return p.first_node() + warp_index() * 16; }
  EDGEWISE_DEVICE int row_number(int i) const { return first_row() + lane_index() / 4 + i * 8; }

  EDGEWISE_DEVICE void begin_copy(int first_key, int stage) const {
    Shared& shared = shared_memory<Shared>();
    copy_nodes<kThreads, kHeadSize>(p, p.key, p.num_sources, first_key, shared.key[stage]);
    copy_nodes<kThreads, kHeadSize>(p, p.value, p.num_sources, first_key, shared.value[stage]);
    commit_copies();
  }

  // Replaces the gradients of weights by those of the scaled products, and stores the gradients of edge biases. `score`
  // is the products of queries and keys.
  EDGEWISE_DEVICE void differentiate(const IntervalRow (&rows)[kRowsOfLane], const RowRecord (&records)[kRowsOfLane],
                                     int first_key, const float (&score)[kKeys / 8][4],
                                     float (&gradient)[kKeys / 8][4]) const {
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      const auto kept = static_cast<std::uint32_t>(p.template kept_keys<kKeys, kLanesOfRow>(rows[r], first_key));
      EDGEWISE_UNROLL
      for (int i = 0; i < kKeys / 8 * 2; ++i) {
        const int key = i / 2 * 8 + lane_index() % 4 * 2 + i % 2;
        float& value = gradient[i / 2][r * 2 + i % 2];
        const EdgeGradient edge = p.edge_gradient(score[i / 2][r * 2 + i % 2], value, (kept >> key & 1) != 0, rows[r],
                                                  records[r], first_key + key);
        value = edge.product;
        p.store_edge_bias(edge, rows[r], first_key + key);
      }
    }
  }
};

}  // namespace edgewise::kernels::device
