// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/interval_products_f32_cuda.h"
#include "edgewise/kernels/attention/interval_rows_cuda.h"

namespace edgewise::kernels::device {

/// Attention in fp32. Keys and values pass through shared memory in tiles of 32, of which the next one is copied
/// meanwhile.
template <int kHeadSize>
struct IntervalAttentionF32 {
  using L = F32Layout;
  static constexpr const char* kName = "interval_attention_f32";
  static constexpr int kThreads = L::kThreads;
  static constexpr int kRowsOfLane = L::kNodesOfLane;
  static constexpr int kKeys = L::kOthers;
  static constexpr int kKeysOfLane = L::kOthersOfLane;
  static constexpr int kStages = 2;
  static constexpr int kStride = L::stride(kHeadSize);
  static constexpr int kChunks = L::chunks(kHeadSize);
  static_assert(kHeadSize % 32 == 0);

  struct Shared {
    alignas(16) float query[L::kNodes][kStride];
    alignas(16) float key[kStages][kKeys][kStride];
    alignas(16) float value[kStages][kKeys][kStride];
    float weight[L::kNodes][L::kWeightStride];
    KeyRange of_warps[L::kWarps];
  };

  IntervalArguments<float> p;

  EDGEWISE_DEVICE void operator()() const {
    Shared& shared = shared_memory<Shared>();
    IntervalRow rows[kRowsOfLane];
    KeyRange of_lane = {0, 0};
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      rows[r] = p.row(p.first_node() + L::node(r));
      of_lane = join(of_lane, {rows[r].begin, rows[r].end});
    }
    const KeyRange of_warp = keys_of_warp(of_lane);
    const KeyRange of_block = keys_of_block(of_warp, shared.of_warps);

    float out[kRowsOfLane][kChunks][4] = {};
    OnlineSoftmax softmax[kRowsOfLane];

    if (!of_block.is_empty()) {
      copy_nodes<kThreads, kHeadSize>(p, p.query, p.num_destinations, p.first_node(), shared.query);
      begin_copy(of_block.begin, 0);
    }
    int stage = 0;
    for (int first_key = of_block.begin; first_key < of_block.end; first_key += kKeys) {
      wait_copies<0>();
      synchronize_block();  // all parts of this tile are here, and the tile before is no longer read
      if (first_key + kKeys < of_block.end) begin_copy(first_key + kKeys, 1 - stage);
      if (of_warp.overlaps(first_key, kKeys)) {
        float score[kRowsOfLane][kKeysOfLane] = {};
        multiply_transposed<kHeadSize>(shared.query, shared.key[stage], score);
        apply_softmax(rows, first_key, score, softmax, out);
        synchronize_warp();  // the weights are written; the next barrier is behind their last read
        add_product<kHeadSize>(shared.weight, shared.value[stage], out);
      }
      stage = 1 - stage;
    }
    store(softmax, out);
  }

 private:
  EDGEWISE_DEVICE void begin_copy(int first_key, int stage) const {
    Shared& shared = shared_memory<Shared>();
    copy_nodes<kThreads, kHeadSize>(p, p.key, p.num_sources, first_key, shared.key[stage]);
    copy_nodes<kThreads, kHeadSize>(p, p.value, p.num_sources, first_key, shared.value[stage]);
    commit_copies();
  }

  // Writes the weights after dropout to shared memory, and rescales the sums so far.
  EDGEWISE_DEVICE void apply_softmax(const IntervalRow (&rows)[kRowsOfLane], int first_key,
                                     float (&score)[kRowsOfLane][kKeysOfLane], OnlineSoftmax (&softmax)[kRowsOfLane],
                                     float (&out)[kRowsOfLane][kChunks][4]) const {
    Shared& shared = shared_memory<Shared>();
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      float maximum = softmax[r].maximum;
      EDGEWISE_UNROLL
      for (int c = 0; c < kKeysOfLane; ++c) {
        score[r][c] = p.score(score[r][c], rows[r], first_key + L::other(c));
        maximum = Maximum()(score[r][c], maximum);
      }
      const float factor = softmax[r].raise(reduce_lanes<L::kLanesOfNode>(maximum, Maximum()));
      const std::uint64_t kept = p.template kept_keys<kKeys, L::kLanesOfNode>(rows[r], first_key);
      EDGEWISE_UNROLL
      for (int c = 0; c < kKeysOfLane; ++c) {
        const float weight = softmax[r].weight(score[r][c]);
        softmax[r].sum += weight;
        shared.weight[L::node(r)][L::other(c)] = (kept >> L::other(c) & 1) != 0 ? weight : 0.0f;
      }
      EDGEWISE_UNROLL
      for (int i = 0; i < kChunks * 4; ++i) out[r][i / 4][i % 4] *= factor;
    }
  }

  EDGEWISE_DEVICE void store(const OnlineSoftmax (&softmax)[kRowsOfLane],
                             const float (&out)[kRowsOfLane][kChunks][4]) const {
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      OnlineSoftmax total = softmax[r];
      total.sum = reduce_lanes<L::kLanesOfNode>(total.sum, Sum());
      const int row = p.first_node() + L::node(r);
      if (row >= p.num_destinations) continue;
      store_row(out[r], total.inverse_sum() * p.dropout_rule.scale(), p.out + p.template at<kHeadSize>(row));
      if (lane_index() % L::kLanesOfNode == 0) {
        p.log_normalizer[std::int64_t{row} * p.num_heads + p.head()] = total.log_normalizer();
      }
    }
  }
};

}  // namespace edgewise::kernels::device
