// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/attention_arguments_cuda.h"

// Products of bf16 matrices on tensor cores, for the kernels of attention over tiles. A warp has 16 nodes in registers,
// and multiplies them with nodes in shared memory. Lane i has numbers of its warp's nodes i / 4 and i / 4 + 8, in the
// layout of multiply_tiles(). The functions that multiply are collectives of the warp.
namespace edgewise::kernels::gpu {

struct Bf16Layout {
  static constexpr int kThreads = 128;
  static constexpr int kWarps = kThreads / kWarpSize;
  static constexpr int kNodesOfWarp = 16;
  static constexpr int kNodesOfLane = 2;
  static constexpr int kLanesOfNode = 4;
  static_assert(kWarps * kNodesOfWarp == kNodesOfBlock);

  /// The stride of nodes in shared memory: 8 rows of a matrix lie in different banks.
  static constexpr int stride(int head_size) { return head_size + 8; }

  EDGEWISE_DEVICE static int node_of_warp(int r) { return lane_index() / kLanesOfNode + r * 8; }
  EDGEWISE_DEVICE static int node(int r) { return warp_index() * kNodesOfWarp + node_of_warp(r); }

  /// Number i of the lane in a row of a product, in the tiles [i / 2][i % 2 + 2 * r], is of column first_column() +
  /// column(i).
  EDGEWISE_DEVICE static int first_column() { return lane_index() % kLanesOfNode * 2; }
  static constexpr int column(int i) { return i / 2 * 8 + i % 2; }
};

/// Loads 16 nodes from `first` on of a head of `from`, a tensor [num_nodes, H, K], as tiles a. Nodes behind the last
/// one are zeros.
template <int kSteps>
EDGEWISE_DEVICE void load_nodes(const AttentionArguments<BFloat16>& p, const BFloat16* from, int num_nodes, int first,
                                std::uint32_t (&nodes)[kSteps][4]) {
  EDGEWISE_UNROLL
  for (int k = 0; k < kSteps; ++k) {
    EDGEWISE_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int node = first + lane_index() / 4 + i % 2 * 8;
      const int column = k * 16 + lane_index() % 4 * 2 + i / 2 * 8;
      nodes[k][i] = 0;
      if (node < num_nodes) {
        nodes[k][i] = *reinterpret_cast<const std::uint32_t*>(from + p.template at<kSteps * 16>(node) + column);
      }
    }
  }
}

/// Adds the product of columns 16 k to 16 k + 15 of nodes, a tile a, and others^T to `product`. Consecutive steps add
/// to different tiles, so that none waits for the one before.
template <int kOthers, int kStride>
EDGEWISE_DEVICE void multiply_columns(const std::uint32_t (&a)[4], const BFloat16 (&others)[kOthers][kStride], int k,
                                      float (&product)[kOthers / 8][4]) {
  EDGEWISE_UNROLL
  for (int n = 0; n < kOthers / 16; ++n) {
    std::uint32_t words[4];
    load_matrices(words, &others[n * 16 + lane_index() / 16 * 8 + lane_index() % 8][k * 16 + lane_index() / 8 % 2 * 8]);
    multiply_tiles(product[2 * n], a, {words[0], words[1]});
    multiply_tiles(product[2 * n + 1], a, {words[2], words[3]});
  }
}

/// Adds nodes * others^T to `product`.
template <int kSteps, int kOthers, int kStride>
EDGEWISE_DEVICE void multiply_transposed(const std::uint32_t (&nodes)[kSteps][4],
                                         const BFloat16 (&others)[kOthers][kStride], float (&product)[kOthers / 8][4]) {
  EDGEWISE_UNROLL
  for (int k = 0; k < kSteps; ++k) multiply_columns(nodes[k], others, k, product);
}

/// Adds nodes * others^T to `product`, where `nodes` is 16 nodes in shared memory.
template <int kHeadSize, int kOthers, int kStride>
EDGEWISE_DEVICE void multiply_shared_transposed(const BFloat16 (*nodes)[kStride],
                                                const BFloat16 (&others)[kOthers][kStride],
                                                float (&product)[kOthers / 8][4]) {
  EDGEWISE_UNROLL
  for (int k = 0; k < kHeadSize / 16; ++k) {
    std::uint32_t a[4];
    load_matrices(a, &nodes[lane_index() % 16][k * 16 + lane_index() / 16 * 8]);
    multiply_columns(a, others, k, product);
  }
}

/// Adds weight * others to `sum`; `weight` has the layout of a product, and is rounded to bf16.
template <int kOthers, int kStride, int kColumns>
EDGEWISE_DEVICE void add_product(const float (&weight)[kOthers / 8][4], const BFloat16 (&others)[kOthers][kStride],
                                 float (&sum)[kColumns][4]) {
  EDGEWISE_UNROLL
  for (int k = 0; k < kOthers / 16; ++k) {
    const float(&first)[4] = weight[2 * k];
    const float(&second)[4] = weight[2 * k + 1];
    const std::uint32_t a[4] = {pack_bf16(first[0], first[1]), pack_bf16(first[2], first[3]),
                                pack_bf16(second[0], second[1]), pack_bf16(second[2], second[3])};
    EDGEWISE_UNROLL
    for (int n = 0; n < kColumns / 2; ++n) {
      std::uint32_t words[4];
      load_matrices_transposed(words, &others[k * 16 + lane_index() % 16][n * 16 + lane_index() / 16 * 8]);
      multiply_tiles(sum[2 * n], a, {words[0], words[1]});
      multiply_tiles(sum[2 * n + 1], a, {words[2], words[3]});
    }
  }
}

/// Stores the lane's numbers of its first (r = 0) or second (r = 1) node, times `factor`, to the node's row `to`.
template <int kColumns>
EDGEWISE_DEVICE void store_row(int r, const float (&sum)[kColumns][4], float factor, BFloat16* to) {
  auto* const words = reinterpret_cast<std::uint32_t*>(to) + lane_index() % 4;
  EDGEWISE_UNROLL
  for (int n = 0; n < kColumns; ++n) {
    words[std::ptrdiff_t{n} * 4] = pack_bf16(sum[n][2 * r] * factor, sum[n][2 * r + 1] * factor);
  }
}

}  // namespace edgewise::kernels::gpu
