// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/interval_products_bf16_cuda.h"
#include "edgewise/kernels/attention/interval_rows_cuda.h"

namespace edgewise::kernels::device {

/// Attention in bf16 on tensor cores: FlashAttention-2 (Dao 2023) with an interval for each row. Each warp computes 16
/// rows; keys and values pass through shared memory in tiles of 64, of which the next one is copied meanwhile. Lane i
/// has the rows i / 4 and i / 4 + 8 of its warp, in the layout of multiply_tiles().
template <int kHeadSize>
struct IntervalAttentionBf16 {
  static constexpr const char* kName = "interval_attention_bf16";
  static constexpr int kThreads = 128;
  static constexpr int kWarps = kThreads / kWarpSize;
  static constexpr int kKeys = 64;
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

  IntervalArguments<BFloat16> p;

  EDGEWISE_DEVICE void operator()() const {
    Shared& shared = shared_memory<Shared>();
    const IntervalRow rows[kRowsOfLane] = {p.row(row_number(0)), p.row(row_number(1))};
    const KeyRange of_warp = keys_of_warp(join({rows[0].begin, rows[0].end}, {rows[1].begin, rows[1].end}));
    const KeyRange of_block = keys_of_block(of_warp, shared.of_warps);

    std::uint32_t query[kHeadSize / 16][4];
    load_nodes(p, p.query, p.num_destinations, first_row(), query);
    float out[kHeadSize / 8][4] = {};
    OnlineSoftmax softmax[kRowsOfLane];

    if (!of_block.is_empty()) begin_copy(of_block.begin, 0);
    int stage = 0;
    for (int first_key = of_block.begin; first_key < of_block.end; first_key += kKeys) {
      wait_copies<0>();
      synchronize_block();  // all parts of this tile are here, and the tile before is no longer read
      if (first_key + kKeys < of_block.end) begin_copy(first_key + kKeys, 1 - stage);
      if (of_warp.overlaps(first_key, kKeys)) {
        float score[kKeys / 8][4] = {};
        multiply_transposed(query, shared.key[stage], score);
        apply_softmax(rows, first_key, score, softmax, out);
        add_product(score, shared.value[stage], out);
      }
      stage = 1 - stage;
    }
    store(softmax, out);
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

  // Replaces the products of queries and keys by weights after dropout, and rescales the sums so far.
  EDGEWISE_DEVICE void apply_softmax(const IntervalRow (&rows)[kRowsOfLane], int first_key,
                                     float (&score)[kKeys / 8][4], OnlineSoftmax (&softmax)[kRowsOfLane],
                                     float (&out)[kHeadSize / 8][4]) const {
    const int first_of_lane = lane_index() % 4 * 2;
    float maximum[kRowsOfLane] = {softmax[0].maximum, softmax[1].maximum};
    EDGEWISE_UNROLL
    for (int i = 0; i < kKeys / 8 * 4; ++i) {
      float& value = score[i / 4][i % 4];
      value = p.score(value, rows[i % 4 / 2], first_key + i / 4 * 8 + first_of_lane + i % 2);
      maximum[i % 4 / 2] = Maximum()(value, maximum[i % 4 / 2]);
    }
    float factor[kRowsOfLane];
    std::uint64_t kept[kRowsOfLane];
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      factor[r] = softmax[r].raise(reduce_lanes<kLanesOfRow>(maximum[r], Maximum()));
      kept[r] = p.template kept_keys<kKeys, kLanesOfRow>(rows[r], first_key);
    }
    EDGEWISE_UNROLL
    for (int i = 0; i < kKeys / 8 * 4; ++i) {
      const float weight = softmax[i % 4 / 2].weight(score[i / 4][i % 4]);
      softmax[i % 4 / 2].sum += weight;
      const bool is_kept = (kept[i % 4 / 2] >> (i / 4 * 8 + first_of_lane + i % 2) & 1) != 0;
      score[i / 4][i % 4] = is_kept ? weight : 0.0f;
    }
    EDGEWISE_UNROLL
    for (int i = 0; i < kHeadSize / 8 * 4; ++i) out[i / 4][i % 4] *= factor[i % 4 / 2];
  }

  EDGEWISE_DEVICE void store(const OnlineSoftmax (&softmax)[kRowsOfLane], const float (&out)[kHeadSize / 8][4]) const {
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      OnlineSoftmax total = softmax[r];
      total.sum = reduce_lanes<kLanesOfRow>(total.sum, Sum());
      const int row = row_number(r);
      if (row >= p.num_destinations) continue;
      const float factor = total.inverse_sum() * p.dropout_rule.scale();
      store_row(r, out, factor, p.out + p.template at<kHeadSize>(row));
      if (lane_index() % 4 == 0) {
        p.log_normalizer[std::int64_t{row} * p.num_heads + p.head()] = total.log_normalizer();
      }
    }
  }
};

}  // namespace edgewise::kernels::device
