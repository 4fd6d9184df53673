// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/kernels/gpu/device.h"
#include "tests/kernels/device/tile_product.h"

namespace edgewise::kernels::gpu {

/// Each block computes 64 rows and columns of `out`, each warp 16 of the rows. A pipeline copies the next 32 columns of
/// a and b while the warps multiply the present ones.
struct TileProductKernel : TileProduct {
  static constexpr const char* kName = "tile_product";
  static constexpr int kThreads = 128;
  static constexpr int kTile = 64;    // rows and columns of `out`
  static constexpr int kDepth = 32;   // columns of a and b
  static constexpr int kStages = 3;   // parts of a and b in shared memory
  static constexpr int kStride = 40;  // of rows in shared memory: 8 rows of a matrix lie in different banks

  struct Shared {
    BFloat16 a[kStages][kTile][kStride];
    BFloat16 b[kStages][kTile][kStride];
  };

  int num_blocks() const { return tiles(rows) * tiles(columns); }

  EDGEWISE_DEVICE void operator()() const {
    const int first_row = block_index() / tiles(columns) * kTile;
    const int first_column = block_index() % tiles(columns) * kTile;
    const int num_parts = (depth + kDepth - 1) / kDepth;
    for (int part = 0; part < kStages - 1; ++part) begin_copy(part, first_row, first_column);

    float sum[kTile / 8][4] = {};
    for (int part = 0; part < num_parts; ++part) {
      wait_for_copies<kStages - 2>();
      synchronize_block();  // every thread's part is here, and the part before is no longer read
      begin_copy(part + kStages - 1, first_row, first_column);
      multiply(part % kStages, sum);
    }
    wait_for_copies<0>();
    store(sum, first_row, first_column);
  }

 private:
  static constexpr int tiles(int size) { return (size + kTile - 1) / kTile; }

  // Begins to copy a part of a and b; zeros outside of the matrices. One group of copies, even after the last part.
  EDGEWISE_DEVICE void begin_copy(int part, int first_row, int first_column) const {
    if (part * kDepth < depth) {
      Shared& shared = shared_memory<Shared>();
      constexpr int kChunk = 8;  // numbers of a copy of 16 bytes
      for (int i = thread_index(); i < kTile * kDepth / kChunk; i += kThreads) {
        const int row = i / (kDepth / kChunk);
        const int in_part = i % (kDepth / kChunk) * kChunk;
        copy_row(&shared.a[part % kStages][row][in_part], a, first_row + row, rows, part * kDepth + in_part);
        copy_row(&shared.b[part % kStages][row][in_part], b, first_column + row, columns, part * kDepth + in_part);
      }
    }
    commit_copies();
  }

  EDGEWISE_DEVICE void copy_row(BFloat16* to, const BFloat16* from, int row, int num_rows, int column) const {
    const bool is_valid = row < num_rows && column < depth;
    copy_async<16>(to, is_valid ? from + std::int64_t{row} * depth + column : from, is_valid);
  }

  EDGEWISE_DEVICE void multiply(int stage, float (&sum)[kTile / 8][4]) const {
    const Shared& shared = shared_memory<Shared>();
    EDGEWISE_UNROLL
    for (int k = 0; k < kDepth; k += 16) {
      std::uint32_t a_tile[4];
      load_matrices(a_tile, &shared.a[stage][warp_index() * 16 + lane_index() % 16][k + lane_index() / 16 * 8]);
      EDGEWISE_UNROLL
      for (int column = 0; column < kTile; column += 8) {
        std::uint32_t b_tile[2];
        load_matrices(b_tile, &shared.b[stage][column + lane_index() % 8][k + lane_index() / 8 % 2 * 8]);
        multiply_tiles(sum[column / 8], a_tile, b_tile);
      }
    }
  }

  EDGEWISE_DEVICE void store(const float (&sum)[kTile / 8][4], int first_row, int first_column) const {
    EDGEWISE_UNROLL
    for (int i = 0; i < kTile / 8 * 4; ++i) {
      const int row = first_row + warp_index() * 16 + lane_index() / 4 + i % 4 / 2 * 8;
      const int column = first_column + i / 4 * 8 + lane_index() % 4 * 2 + i % 2;
      if (row < rows && column < columns) out[std::int64_t{row} * columns + column] = sum[i / 4][i % 4];
    }
  }
};

}  // namespace edgewise::kernels::gpu
