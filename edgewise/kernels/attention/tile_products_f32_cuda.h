// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/attention_arguments_cuda.h"

// Products of fp32 matrices for the kernels of attention over tiles, without tensor cores, which round floats to fewer
// bits. A block has 64 nodes in shared memory, 16 for each warp, and multiplies them with 32 other nodes. 8 lanes
// share a node. A thread has 4 nodes, other nodes i % 8 + 8 c, and columns 4 (i % 8 + 8 c) to 4 (i % 8 + 8 c) + 3 of a
// node, where i is its lane. tile_products_bf16_cuda.h describes what a layout has.
namespace edgewise::kernels::gpu {

struct alignas(16) Floats {
  float at[4];
};

EDGEWISE_DEVICE Floats load_floats(const float* from) { return *reinterpret_cast<const Floats*>(from); }

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
