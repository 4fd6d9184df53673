// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/interval_rows_cuda.h"

namespace edgewise::kernels::device {

/// Attention in fp32, without tensor cores, which round floats to fewer bits. Keys and values pass through shared
/// memory in tiles of 32, of which the next one is copied meanwhile. 8 lanes share a row: thread i has the rows i / 8 +
/// 16 r of its block, the keys i % 8 + 8 c of a tile, and 4 columns of a value from 4 (i % 8 + 8 c) on.
template <int kHeadSize>
struct IntervalAttentionF32 {
  static constexpr const char* kName = "interval_attention_f32";
  static constexpr int kThreads = 128;
  static constexpr int kWarps = kThreads / kWarpSize;
  static constexpr int kRows = IntervalArguments<float>::kRowsOfBlock;
  static constexpr int kKeys = 32;
  static constexpr int kStages = 2;
  static constexpr int kStride = kHeadSize + 4;  // 8 rows lie in different banks
  static constexpr int kLanesOfRow = 8;
  static constexpr int kRowsOfLane = kRows * kLanesOfRow / kThreads;
  static constexpr int kKeysOfLane = kKeys / kLanesOfRow;
  static constexpr int kChunks = kHeadSize / 4 / kLanesOfRow;  // the lane's chunks of 4 columns
  static_assert(kHeadSize % 32 == 0);

  struct Shared {
    alignas(16) float query[kRows][kStride];
    alignas(16) float key[kStages][kKeys][kStride];
    alignas(16) float value[kStages][kKeys][kStride];
    float weight[kRows][kKeys + 4];
    KeyRange of_warps[kWarps];
  };

  struct alignas(16) Floats {
    float at[4];
  };

  IntervalArguments<float> p;

  EDGEWISE_DEVICE void operator()() const {
    Shared& shared = shared_memory<Shared>();
    IntervalRow rows[kRowsOfLane];
    KeyRange of_lane = {0, 0};
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      rows[r] = p.row(p.first_row() + row_in_block(r));
      of_lane = join(of_lane, {rows[r].begin, rows[r].end});
    }
    const KeyRange of_warp = keys_of_warp(of_lane);
    const KeyRange of_block = keys_of_block(of_warp, shared.of_warps);

    float out[kRowsOfLane][kChunks][4] = {};
    OnlineSoftmax softmax[kRowsOfLane];

    if (!of_block.is_empty()) {
      copy_query();
      begin_copy(of_block.begin, 0);
    }
    int stage = 0;
    for (int first_key = of_block.begin; first_key < of_block.end; first_key += kKeys) {
      wait_copies<0>();
      synchronize_block();  // all parts of this tile are here, and the tile before is no longer read
      if (first_key + kKeys < of_block.end) begin_copy(first_key + kKeys, 1 - stage);
      if (of_warp.overlaps(first_key, kKeys)) {
        float score[kRowsOfLane][kKeysOfLane] = {};
        multiply_keys(shared.key[stage], score);
        apply_softmax(rows, first_key, score, softmax, out);
        synchronize_warp();  // the weights are written; the next barrier is behind their last read
        add_values(shared.value[stage], out);
      }
      stage = 1 - stage;
    }
    store(softmax, out);
  }

 private:
  EDGEWISE_DEVICE static int lane_of_row() { return thread_index() % kLanesOfRow; }
  EDGEWISE_DEVICE static int row_in_block(int r) { return thread_index() / kLanesOfRow + r * (kThreads / kLanesOfRow); }

  EDGEWISE_DEVICE static Floats load(const float* from) { return *reinterpret_cast<const Floats*>(from); }

  // Copies the queries; zeros behind the last row. The first tile of keys completes the group of copies.
  EDGEWISE_DEVICE void copy_query() const {
    Shared& shared = shared_memory<Shared>();
    constexpr int kChunksOfRow = kHeadSize / 4;
    for (int i = thread_index(); i < kRows * kChunksOfRow; i += kThreads) {
      const int row = p.first_row() + i / kChunksOfRow;
      const int column = i % kChunksOfRow * 4;
      const bool is_valid = row < p.num_destinations;
      copy_async<16>(&shared.query[i / kChunksOfRow][column],
                     is_valid ? p.query + p.template at<kHeadSize>(row) + column : p.query, is_valid);
    }
  }

  EDGEWISE_DEVICE void begin_copy(int first_key, int stage) const {
    Shared& shared = shared_memory<Shared>();
    copy_sources<kThreads, kHeadSize>(p, p.key, first_key, shared.key[stage]);
    copy_sources<kThreads, kHeadSize>(p, p.value, first_key, shared.value[stage]);
    commit_copies();
  }

  EDGEWISE_DEVICE static void multiply_keys(const float (&key)[kKeys][kStride],
                                            float (&score)[kRowsOfLane][kKeysOfLane]) {
    const Shared& shared = shared_memory<Shared>();
    for (int k = 0; k < kHeadSize; k += 4) {
      Floats keys[kKeysOfLane];
      EDGEWISE_UNROLL
      for (int c = 0; c < kKeysOfLane; ++c) keys[c] = load(&key[lane_of_row() + c * kLanesOfRow][k]);
      EDGEWISE_UNROLL
      for (int r = 0; r < kRowsOfLane; ++r) {
        const Floats query = load(&shared.query[row_in_block(r)][k]);
        EDGEWISE_UNROLL
        for (int i = 0; i < kKeysOfLane * 4; ++i) {
          score[r][i / 4] = fused_multiply_add(query.at[i % 4], keys[i / 4].at[i % 4], score[r][i / 4]);
        }
      }
    }
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
        score[r][c] = p.score(score[r][c], rows[r], first_key + lane_of_row() + c * kLanesOfRow);
        maximum = Maximum()(score[r][c], maximum);
      }
      const float factor = softmax[r].raise(reduce_lanes<kLanesOfRow>(maximum, Maximum()));
      const std::uint64_t kept = p.dropout_rule.is_identity()
                                     ? ~std::uint64_t{0}
                                     : p.template kept_keys<kKeys, kLanesOfRow>(rows[r], first_key);
      EDGEWISE_UNROLL
      for (int c = 0; c < kKeysOfLane; ++c) {
        const int key = lane_of_row() + c * kLanesOfRow;
        const float weight = softmax[r].weight(score[r][c]);
        softmax[r].sum += weight;
        shared.weight[row_in_block(r)][key] = (kept >> key & 1) != 0 ? weight : 0.0f;
      }
      EDGEWISE_UNROLL
      for (int i = 0; i < kChunks * 4; ++i) out[r][i / 4][i % 4] *= factor;
    }
  }

  EDGEWISE_DEVICE static void add_values(const float (&value)[kKeys][kStride], float (&out)[kRowsOfLane][kChunks][4]) {
    const Shared& shared = shared_memory<Shared>();
    for (int key = 0; key < kKeys; ++key) {
      float weight[kRowsOfLane];
      EDGEWISE_UNROLL
      for (int r = 0; r < kRowsOfLane; ++r) weight[r] = shared.weight[row_in_block(r)][key];
      EDGEWISE_UNROLL
      for (int c = 0; c < kChunks; ++c) {
        const Floats values = load(&value[key][(lane_of_row() + c * kLanesOfRow) * 4]);
        EDGEWISE_UNROLL
        for (int i = 0; i < kRowsOfLane * 4; ++i) {
          out[i / 4][c][i % 4] = fused_multiply_add(weight[i / 4], values.at[i % 4], out[i / 4][c][i % 4]);
        }
      }
    }
  }

  EDGEWISE_DEVICE void store(const OnlineSoftmax (&softmax)[kRowsOfLane],
                             const float (&out)[kRowsOfLane][kChunks][4]) const {
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsOfLane; ++r) {
      OnlineSoftmax total = softmax[r];
      total.sum = reduce_lanes<kLanesOfRow>(total.sum, Sum());
      const int row = p.first_row() + row_in_block(r);
      if (row >= p.num_destinations) continue;
      const float factor = total.inverse_sum() * p.dropout_rule.scale();
      EDGEWISE_UNROLL
      for (int c = 0; c < kChunks; ++c) {
        Floats scaled;
        EDGEWISE_UNROLL
        for (int i = 0; i < 4; ++i) scaled.at[i] = out[r][c][i] * factor;
        float* const to = p.out + p.template at<kHeadSize>(row) + (lane_of_row() + c * kLanesOfRow) * 4;
        *reinterpret_cast<Floats*>(to) = scaled;
      }
      if (lane_of_row() == 0) {
        p.log_normalizer[std::int64_t{row} * p.num_heads + p.head()] = total.log_normalizer();
      }
    }
  }
};

}  // namespace edgewise::kernels::device
