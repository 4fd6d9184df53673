// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/attention_arguments_cuda.h"

// Products of fp32 matrices for the kernels of attention over tiles, without tensor cores, which round floats to fewer
// bits. A block has 64 nodes in shared memory, 16 for each warp, and multiplies them with 32 other nodes. 8 lanes
// share a node. A thread has 4 nodes, other nodes i % 8 + 8 c, and columns 4 (i % 8 + 8 c) to 4 (i % 8 + 8 c) + 3 of a
// node, where i is its lane.
namespace edgewise::kernels::gpu {

struct F32Layout {
  static constexpr int kThreads = 128;
  static constexpr int kWarps = kThreads / kWarpSize;
  static constexpr int kNodes = kNodesOfBlock;
  static constexpr int kOthers = 32;
  static constexpr int kLanesOfNode = 8;
  static constexpr int kNodesOfLane = kNodes * kLanesOfNode / kThreads;
  static constexpr int kOthersOfLane = kOthers / kLanesOfNode;
  static constexpr int kNodesOfWarp = kNodes / kWarps;
  static constexpr int kWeightStride = kOthers + 4;

  /// The stride of nodes in shared memory: 8 nodes lie in different banks.
  static constexpr int stride(int head_size) { return head_size + 4; }

  /// The thread's chunks of 4 columns.
  static constexpr int chunks(int head_size) { return head_size / 4 / kLanesOfNode; }

  EDGEWISE_DEVICE static int node_of_warp(int r) {
    return lane_index() / kLanesOfNode + r * (kWarpSize / kLanesOfNode);
  }
  EDGEWISE_DEVICE static int node(int r) { return warp_index() * kNodesOfWarp + node_of_warp(r); }
  EDGEWISE_DEVICE static int other(int c) { return first_column() + column(c); }

  /// The other nodes are columns of a product.
  EDGEWISE_DEVICE static int first_column() { return lane_index() % kLanesOfNode; }
  static constexpr int column(int c) { return c * kLanesOfNode; }
};

struct alignas(16) Floats {
  float at[4];
};

EDGEWISE_DEVICE Floats load_floats(const float* from) { return *reinterpret_cast<const Floats*>(from); }

/// Adds nodes * others^T to `product`.
template <int kHeadSize>
EDGEWISE_DEVICE void multiply_transposed(const float (&nodes)[F32Layout::kNodes][F32Layout::stride(kHeadSize)],
                                         const float (&others)[F32Layout::kOthers][F32Layout::stride(kHeadSize)],
                                         float (&product)[F32Layout::kNodesOfLane][F32Layout::kOthersOfLane]) {
  using L = F32Layout;
  for (int k = 0; k < kHeadSize; k += 4) {
    Floats of_others[L::kOthersOfLane];
    EDGEWISE_UNROLL
    for (int c = 0; c < L::kOthersOfLane; ++c) of_others[c] = load_floats(&others[L::other(c)][k]);
    EDGEWISE_UNROLL
    for (int r = 0; r < L::kNodesOfLane; ++r) {
      const Floats of_node = load_floats(&nodes[L::node(r)][k]);
      EDGEWISE_UNROLL
      for (int i = 0; i < L::kOthersOfLane * 4; ++i) {
        product[r][i / 4] = fused_multiply_add(of_node.at[i % 4], of_others[i / 4].at[i % 4], product[r][i / 4]);
      }
    }
  }
}

/// Adds weight * others to `sum`. Reads the weights of the warp's nodes.
template <int kHeadSize>
EDGEWISE_DEVICE void add_product(const float (&weight)[F32Layout::kNodes][F32Layout::kWeightStride],
                                 const float (&others)[F32Layout::kOthers][F32Layout::stride(kHeadSize)],
                                 float (&sum)[F32Layout::kNodesOfLane][F32Layout::chunks(kHeadSize)][4]) {
  using L = F32Layout;
  for (int other = 0; other < L::kOthers; ++other) {
    float weights[L::kNodesOfLane];
    EDGEWISE_UNROLL
    for (int r = 0; r < L::kNodesOfLane; ++r) weights[r] = weight[L::node(r)][other];
    EDGEWISE_UNROLL
    for (int c = 0; c < L::chunks(kHeadSize); ++c) {
      const Floats of_other = load_floats(&others[other][L::other(c) * 4]);
      EDGEWISE_UNROLL
      for (int i = 0; i < L::kNodesOfLane * 4; ++i) {
        sum[i / 4][c][i % 4] = fused_multiply_add(weights[i / 4], of_other.at[i % 4], sum[i / 4][c][i % 4]);
      }
    }
  }
}

/// Stores the thread's columns of a node, times `factor`, to the node's row `to`.
template <int kChunks>
EDGEWISE_DEVICE void store_row(const float (&sum)[kChunks][4], float factor, float* to) {
  EDGEWISE_UNROLL
  for (int c = 0; c < kChunks; ++c) {
    Floats scaled;
    EDGEWISE_UNROLL
    for (int i = 0; i < 4; ++i) scaled.at[i] = sum[c][i] * factor;
    *reinterpret_cast<Floats*>(to + std::ptrdiff_t{F32Layout::other(c)} * 4) = scaled;
  }
}

}  // namespace edgewise::kernels::gpu
