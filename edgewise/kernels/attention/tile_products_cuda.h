// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/attention_arguments_cuda.h"

// Products of matrices for the kernels of attention over tiles. A layout divides the products of a block's
// kNodesOfBlock nodes with other nodes among threads. It has:
//
//     node(r)                           the node of the block that is number r of the thread's kNodesOfLane nodes
//     Product<count>                    the thread's numbers of a product of nodes with `count` other nodes
//     at(product, r, i)                 number i of node r, which is of the other node first_column() + column(i)
//     Sums<head size>                   the thread's numbers of sums of other nodes
//     scale(sums, r, factor)            multiplies the numbers of node r
//     store(sums, r, factor, to)        stores the numbers of node r, times `factor`, to the node's row
//     NodeMemory<head size, count>      the shared memory of `count` Nodes
//     Nodes<head size>                  a head of the block's nodes, in registers or in NodeMemory
//         load(p, from, nodes)          begins to load them from a tensor [N, H, K]
//         multiply(others, product)     adds nodes * others^T to the product
//     multiply_shared<head size>(nodes, others, product)
//                                       does so for all nodes of the block in shared memory
//     add_product<head size>(weight, others, sums, memory)
//                                       adds weight * others to the sums; `memory` is the warps' ProductMemory
//     end_product()                     is between two add_product() with the same memory, unless a barrier is
namespace edgewise::kernels::gpu {

/// Products of bf16 matrices on tensor cores. A warp has 16 nodes in registers, and multiplies them with nodes in
/// shared memory. Lane i has numbers of its warp's nodes i / 4 and i / 4 + 8, in the layout of multiply_tiles(). The
/// functions that multiply are collectives of the warp.
struct Bf16Layout {
  using T = BFloat16;
  static constexpr int kThreads = 128;
  static constexpr int kWarps = kThreads / kWarpSize;
  static constexpr int kNodesOfWarp = 16;
  static constexpr int kNodesOfLane = 2;
  static constexpr int kLanesOfNode = 4;
  static_assert(kWarps * kNodesOfWarp == kNodesOfBlock);

  static constexpr int kForwardKeys = 64;
  static constexpr int kGradientKeys = 32;
  static constexpr int kGradientStages = 2;
  static constexpr int forward_blocks(int head_size) { return head_size <= 64 ? 3 : 2; }
  static constexpr int rows_of_part(int head_size) { return head_size <= 96 ? 32 : 16; }  // registers hold their edges

  static constexpr TiledKernelNames kBitmapNames = {"tile_attention_bf16", "tile_query_gradient_bf16",
                                                    "tile_source_gradient_bf16"};
  static constexpr TiledKernelNames kIntervalNames = {"interval_attention_bf16", "interval_query_gradient_bf16",
                                                      "interval_source_gradient_bf16"};

  static constexpr int stride(int head_size) { return head_size + 8; }  // 8 rows of a matrix lie in different banks

  EDGEWISE_DEVICE static int node_of_warp(int r) { return lane_index() / kLanesOfNode + r * 8; }
  EDGEWISE_DEVICE static int node(int r) { return warp_index() * kNodesOfWarp + node_of_warp(r); }
  EDGEWISE_DEVICE static int first_column() { return lane_index() % kLanesOfNode * 2; }
  static constexpr int column(int i) { return i / 2 * 8 + i % 2; }

  template <int kCount>
  using Product = float[kCount / 8][4];

  template <int kTiles>
  EDGEWISE_DEVICE static float& at(float (&product)[kTiles][4], int r, int i) {
    return product[i / 2][r * 2 + i % 2];
  }

  template <int kHeadSize>
  using Sums = float[kHeadSize / 8][4];

  template <int kTiles>
  EDGEWISE_DEVICE static void scale(float (&sums)[kTiles][4], int r, float factor) {
    EDGEWISE_UNROLL
    for (int i = 0; i < kTiles * 2; ++i) at(sums, r, i) *= factor;
  }

  template <int kTiles>
  EDGEWISE_DEVICE static void store(const float (&sums)[kTiles][4], int r, float factor, BFloat16* to) {
    auto* const words = reinterpret_cast<std::uint32_t*>(to) + lane_index() % 4;
    EDGEWISE_UNROLL
    for (int n = 0; n < kTiles; ++n) {
      words[std::ptrdiff_t{n} * 4] = pack_bf16(sums[n][2 * r] * factor, sums[n][2 * r + 1] * factor);
    }
  }

  template <int kHeadSize, int kCount>
  struct NodeMemory {};

  struct ProductMemory {};

  template <int kHeadSize>
  struct Nodes {
    static constexpr int kSteps = kHeadSize / 16;

    std::uint32_t tiles[kSteps][4];

    template <int kCount>
    EDGEWISE_DEVICE explicit Nodes(NodeMemory<kHeadSize, kCount>& /*shared*/, int /*number*/ = 0) {}

    EDGEWISE_DEVICE void load(const AttentionArguments<BFloat16>& p, const BFloat16* from,
                              const ConsecutiveNodes& of_block) {
      const int first = of_block.first + warp_index() * kNodesOfWarp;
      EDGEWISE_UNROLL
      for (int k = 0; k < kSteps; ++k) {
        EDGEWISE_UNROLL
        for (int i = 0; i < 4; ++i) {
          const int node = first + lane_index() / 4 + i % 2 * 8;
          const int column = k * 16 + lane_index() % 4 * 2 + i / 2 * 8;
          tiles[k][i] = 0;
          if (node < of_block.end) {
            tiles[k][i] = *reinterpret_cast<const std::uint32_t*>(from + p.template at<kHeadSize>(node) + column);
          }
        }
      }
    }

    template <int kOthers, int kStride>
    EDGEWISE_DEVICE void multiply(const BFloat16 (&others)[kOthers][kStride], float (&product)[kOthers / 8][4]) const {
      EDGEWISE_UNROLL
      for (int k = 0; k < kSteps; ++k) multiply_columns(tiles[k], others, k, product);
    }
  };

  template <int kHeadSize, int kOthers, int kStride>
  EDGEWISE_DEVICE static void multiply_shared(const BFloat16 (&nodes)[kNodesOfBlock][kStride],
                                              const BFloat16 (&others)[kOthers][kStride],
                                              float (&product)[kOthers / 8][4]) {
    const BFloat16(*const of_warp)[kStride] = &nodes[warp_index() * kNodesOfWarp];
    EDGEWISE_UNROLL
    for (int k = 0; k < kHeadSize / 16; ++k) {
      std::uint32_t a[4];
      load_matrices(a, &of_warp[lane_index() % 16][k * 16 + lane_index() / 16 * 8]);
      multiply_columns(a, others, k, product);
    }
  }

  // The weights are rounded to bf16.
  template <int kHeadSize, int kOthers, int kStride>
  EDGEWISE_DEVICE static void add_product(const float (&weight)[kOthers / 8][4],
                                          const BFloat16 (&others)[kOthers][kStride], Sums<kHeadSize>& sums,
                                          ProductMemory& /*shared*/) {
    EDGEWISE_UNROLL
    for (int k = 0; k < kOthers / 16; ++k) {
      const float(&first)[4] = weight[2 * k];
      const float(&second)[4] = weight[2 * k + 1];
      const std::uint32_t a[4] = {pack_bf16(first[0], first[1]), pack_bf16(first[2], first[3]),
                                  pack_bf16(second[0], second[1]), pack_bf16(second[2], second[3])};
      EDGEWISE_UNROLL
      for (int n = 0; n < kHeadSize / 16; ++n) {
        std::uint32_t words[4];
        load_matrices_transposed(words, &others[k * 16 + lane_index() % 16][n * 16 + lane_index() / 16 * 8]);
        multiply_tiles(sums[2 * n], a, {words[0], words[1]});
        multiply_tiles(sums[2 * n + 1], a, {words[2], words[3]});
      }
    }
  }

  EDGEWISE_DEVICE static void end_product() {}

 private:
  // Adds the product of columns 16 k to 16 k + 15 of nodes, a tile a, and others^T to `product`. Consecutive steps add
  // to different tiles, so that none waits for the one before.
  template <int kOthers, int kStride>
  EDGEWISE_DEVICE static void multiply_columns(const std::uint32_t (&a)[4], const BFloat16 (&others)[kOthers][kStride],
                                               int k, float (&product)[kOthers / 8][4]) {
    EDGEWISE_UNROLL
    for (int n = 0; n < kOthers / 16; ++n) {
      std::uint32_t words[4];
      load_matrices(words,
                    &others[n * 16 + lane_index() / 16 * 8 + lane_index() % 8][k * 16 + lane_index() / 8 % 2 * 8]);
      multiply_tiles(product[2 * n], a, {words[0], words[1]});
      multiply_tiles(product[2 * n + 1], a, {words[2], words[3]});
    }
  }
};

struct alignas(16) Floats {
  float at[4];
};

EDGEWISE_DEVICE Floats load_floats(const float* from) { return *reinterpret_cast<const Floats*>(from); }

/// Products of fp32 matrices without tensor cores, which round floats to fewer
/// bits. A block has 64 nodes in shared memory, 16 for each warp, and multiplies them with 32 other nodes. 8 lanes
/// share a node. A thread has 4 nodes, other nodes i % 8 + 8 c, and columns 4 (i % 8 + 8 c) to 4 (i % 8 + 8 c) + 3 of a
/// node, where i is its lane.
struct F32Layout {
  using T = float;
  static constexpr int kThreads = 128;
  static constexpr int kWarps = kThreads / kWarpSize;
  static constexpr int kOthers = 32;
  static constexpr int kLanesOfNode = 8;
  static constexpr int kNodesOfLane = kNodesOfBlock * kLanesOfNode / kThreads;
  static constexpr int kNodesOfWarp = kNodesOfBlock / kWarps;

  static constexpr int kForwardKeys = kOthers;
  static constexpr int kGradientKeys = kOthers;
  static constexpr int kGradientStages = 1;  // a second one would leave memory for fewer blocks, which hide copies, too
  static constexpr int forward_blocks(int head_size) { return head_size <= 32 ? 3 : 2; }
  static constexpr int rows_of_part(int /*head_size*/) { return kOthers; }

  static constexpr TiledKernelNames kBitmapNames = {"tile_attention_f32", "tile_query_gradient_f32",
                                                    "tile_source_gradient_f32"};
  static constexpr TiledKernelNames kIntervalNames = {"interval_attention_f32", "interval_query_gradient_f32",
                                                      "interval_source_gradient_f32"};

  static constexpr int stride(int head_size) { return head_size + 4; }                 // 8 nodes lie in different banks
  static constexpr int chunks(int head_size) { return head_size / 4 / kLanesOfNode; }  // a thread's 4 columns each

  EDGEWISE_DEVICE static int node_of_warp(int r) {
    return lane_index() / kLanesOfNode + r * (kWarpSize / kLanesOfNode);
  }
  EDGEWISE_DEVICE static int node(int r) { return warp_index() * kNodesOfWarp + node_of_warp(r); }
  EDGEWISE_DEVICE static int other(int c) { return first_column() + column(c); }
  EDGEWISE_DEVICE static int first_column() { return lane_index() % kLanesOfNode; }
  static constexpr int column(int c) { return c * kLanesOfNode; }

  template <int kCount>
  using Product = float[kNodesOfLane][kCount / kLanesOfNode];

  template <int kCount>
  EDGEWISE_DEVICE static float& at(float (&product)[kNodesOfLane][kCount], int r, int c) {
    return product[r][c];
  }

  template <int kHeadSize>
  using Sums = float[kNodesOfLane][chunks(kHeadSize)][4];

  template <int kChunks>
  EDGEWISE_DEVICE static void scale(float (&sums)[kNodesOfLane][kChunks][4], int r, float factor) {
    EDGEWISE_UNROLL
    for (int i = 0; i < kChunks * 4; ++i) sums[r][i / 4][i % 4] *= factor;
  }

  template <int kChunks>
  EDGEWISE_DEVICE static void store(const float (&sums)[kNodesOfLane][kChunks][4], int r, float factor, float* to) {
    EDGEWISE_UNROLL
    for (int c = 0; c < kChunks; ++c) {
      Floats scaled;
      EDGEWISE_UNROLL
      for (int i = 0; i < 4; ++i) scaled.at[i] = sums[r][c][i] * factor;
      *reinterpret_cast<Floats*>(to + std::ptrdiff_t{other(c)} * 4) = scaled;
    }
  }

  template <int kHeadSize, int kCount>
  struct NodeMemory {
    alignas(16) float nodes[kCount][kNodesOfBlock][stride(kHeadSize)];
  };

  struct ProductMemory {
    float product[kNodesOfBlock][kOthers + 4];
  };

  template <int kHeadSize>
  struct Nodes {
    using Memory = float[kNodesOfBlock][stride(kHeadSize)];

    Memory& memory;

    template <int kCount>
    EDGEWISE_DEVICE explicit Nodes(NodeMemory<kHeadSize, kCount>& shared, int number = 0)
        : memory(shared.nodes[number]) {}

    EDGEWISE_DEVICE void load(const AttentionArguments<float>& p, const float* from, const ConsecutiveNodes& of_block) {
      copy_nodes<kThreads, kHeadSize>(p, from, of_block, memory);
    }

    EDGEWISE_DEVICE void multiply(const float (&others)[kOthers][stride(kHeadSize)], Product<kOthers>& product) const {
      multiply_shared<kHeadSize>(memory, others, product);
    }
  };

  template <int kHeadSize>
  EDGEWISE_DEVICE static void multiply_shared(const float (&nodes)[kNodesOfBlock][stride(kHeadSize)],
                                              const float (&others)[kOthers][stride(kHeadSize)],
                                              Product<kOthers>& product) {
    constexpr int kOthersOfLane = kOthers / kLanesOfNode;
    for (int k = 0; k < kHeadSize; k += 4) {
      Floats of_others[kOthersOfLane];
      EDGEWISE_UNROLL
      for (int c = 0; c < kOthersOfLane; ++c) of_others[c] = load_floats(&others[other(c)][k]);
      EDGEWISE_UNROLL
      for (int r = 0; r < kNodesOfLane; ++r) {
        const Floats of_node = load_floats(&nodes[node(r)][k]);
        EDGEWISE_UNROLL
        for (int i = 0; i < kOthersOfLane * 4; ++i) {
          product[r][i / 4] = fused_multiply_add(of_node.at[i % 4], of_others[i / 4].at[i % 4], product[r][i / 4]);
        }
      }
    }
  }

  template <int kHeadSize>
  EDGEWISE_DEVICE static void add_product(const Product<kOthers>& weight,
                                          const float (&others)[kOthers][stride(kHeadSize)], Sums<kHeadSize>& sums,
                                          ProductMemory& shared) {
    constexpr int kOthersOfLane = kOthers / kLanesOfNode;
    EDGEWISE_UNROLL
    for (int i = 0; i < kNodesOfLane * kOthersOfLane; ++i) {
      shared.product[node(i / kOthersOfLane)][other(i % kOthersOfLane)] = weight[i / kOthersOfLane][i % kOthersOfLane];
    }
    synchronize_warp();  // the product is written
    for (int row = 0; row < kOthers; ++row) {
      float weights[kNodesOfLane];
      EDGEWISE_UNROLL
      for (int r = 0; r < kNodesOfLane; ++r) weights[r] = shared.product[node(r)][row];
      EDGEWISE_UNROLL
      for (int c = 0; c < chunks(kHeadSize); ++c) {
        const Floats of_other = load_floats(&others[row][other(c) * 4]);
        EDGEWISE_UNROLL
        for (int i = 0; i < kNodesOfLane * 4; ++i) {
          sums[i / 4][c][i % 4] = fused_multiply_add(weights[i / 4], of_other.at[i % 4], sums[i / 4][c][i % 4]);
        }
      }
    }
  }

  EDGEWISE_DEVICE static void end_product() { synchronize_warp(); }
};

}  // namespace edgewise::kernels::gpu
