// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/interval_gradients_cuda.h"
#include "edgewise/kernels/attention/interval_products_f32_cuda.h"

namespace edgewise::kernels::device {

/// The gradients of queries and edge biases in fp32. Keys and values pass through shared memory in tiles of 32. A
/// second stage would leave memory for fewer blocks, which hide each other's copies.
template <int kHeadSize>
struct IntervalQueryGradientF32 {
  using L = F32Layout;
  static constexpr const char* kName = "interval_query_gradient_f32";
  static constexpr int kThreads = L::kThreads;
  static constexpr int kRowsOfLane = L::kNodesOfLane;
  static constexpr int kKeys = L::kOthers;
  static constexpr int kKeysOfLane = L::kOthersOfLane;
  static constexpr int kStride = L::stride(kHeadSize);
  static_assert(kHeadSize % 32 == 0);

  struct Shared {
    alignas(16) float query[L::kNodes][kStride];
    alignas(16) float grad_out[L::kNodes][kStride];
    alignas(16) float key[kKeys][kStride];
    alignas(16) float value[kKeys][kStride];
    float gradient[L::kNodes][L::kWeightStride];  // gradients of the scaled products of queries and keys
    KeyRange of_warps[L::kWarps];
  };

  IntervalGradients<float> p;

  EDGEWISE_DEVICE void operator()() const {
    Shared& shared = shared_memory<Shared>();
    IntervalRow rows[kRowsOfLane];
    RowRecord records[kRowsOfLane];
    KeyRange of_lane = {0, 0};
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      rows[r] = p.row(p.first_node() + L::node(r));
      records[r] = p.record(p.first_node() + L::node(r));
      of_lane = join(of_lane, {rows[r].begin, rows[r].end});
    }
    const KeyRange of_warp = keys_of_warp(of_lane);
    const KeyRange of_block = keys_of_block(of_warp, shared.of_warps);
    float grad_query[kRowsOfLane][L::chunks(kHeadSize)][4] = {};

    if (!of_block.is_empty()) {
      copy_nodes<kThreads, kHeadSize>(p, p.query, p.num_destinations, p.first_node(), shared.query);
      copy_nodes<kThreads, kHeadSize>(p, p.grad_out, p.num_destinations, p.first_node(), shared.grad_out);
    }
    for (int first_key = of_block.begin; first_key < of_block.end; first_key += kKeys) {
      copy_nodes<kThreads, kHeadSize>(p, p.key, p.num_sources, first_key, shared.key);
      copy_nodes<kThreads, kHeadSize>(p, p.value, p.num_sources, first_key, shared.value);
      commit_copies();
      wait_copies<0>();
      synchronize_block();
      if (of_warp.overlaps(first_key, kKeys)) {
        float score[kRowsOfLane][kKeysOfLane] = {};
        float gradient[kRowsOfLane][kKeysOfLane] = {};
        multiply_transposed<kHeadSize>(shared.query, shared.key, score);
        multiply_transposed<kHeadSize>(shared.grad_out, shared.value, gradient);
        differentiate(rows, records, first_key, score, gradient);
        synchronize_warp();  // the gradients are written; the next barrier is behind their last read
        add_product<kHeadSize>(shared.gradient, shared.key, grad_query);
      }
      synchronize_block();
    }
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      const int row = p.first_node() + L::node(r);
      if (row >= p.num_destinations) continue;
      store_row(grad_query[r], p.product_scale, p.grad_query + p.template at<kHeadSize>(row));
    }
  }

 private:
  // Writes the gradients of the scaled products to shared memory, and stores those of edge biases. `score` is the
  // products of queries and keys, and `gradient` the gradients of weights.
  EDGEWISE_DEVICE void differentiate(const IntervalRow (&rows)[kRowsOfLane], const RowRecord (&records)[kRowsOfLane],
                                     int first_key, const float (&score)[kRowsOfLane][kKeysOfLane],
                                     const float (&gradient)[kRowsOfLane][kKeysOfLane]) const {
    Shared& shared = shared_memory<Shared>();
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      const auto kept = static_cast<std::uint32_t>(p.template kept_keys<kKeys, L::kLanesOfNode>(rows[r], first_key));
      EDGEWISE_UNROLL
      for (int c = 0; c < kKeysOfLane; ++c) {
        const int key = L::other(c);
        const EdgeGradient edge =
            p.edge_gradient(score[r][c], gradient[r][c], (kept >> key & 1) != 0, rows[r], records[r], first_key + key);
        shared.gradient[L::node(r)][key] = edge.product;
        p.store_edge_bias(edge, rows[r], first_key + key);
      }
    }
  }
};

}  // namespace edgewise::kernels::device
