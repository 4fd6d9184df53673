// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/kernels/gpu/floats4.h"
#include "edgewise/kernels/gpu/reductions.h"

// The division of the rows of a matrix among warps, for kernels that move or sum rows.
namespace edgewise::kernels::gpu {

/// A warp has a strip of a row: kChunks chunks for each lane, and neighbouring lanes have neighbouring chunks.
template <int kChunks>
struct RowStrips {
  static constexpr int kThreads = 256;
  static constexpr int kWarps = kThreads / kWarpSize;
  static constexpr int kStrip = kWarpSize * kChunk * kChunks;  // numbers of a strip

  static int num_blocks(std::int64_t num_rows, std::int64_t size) {
    return static_cast<int>((num_rows * strips_of_row(size) + kWarps - 1) / kWarps);
  }

  explicit EDGEWISE_DEVICE RowStrips(std::int64_t size) {
    const std::int64_t strip = std::int64_t{block_index()} * kWarps + warp_index();
    row = strip / strips_of_row(size);
    first_column = strip % strips_of_row(size) * kStrip + std::int64_t{lane_index()} * kChunk;
  }

  /// Returns the first column of this lane's chunk number c.
  EDGEWISE_DEVICE std::int64_t column(int c) const { return first_column + std::int64_t{c} * kWarpSize * kChunk; }

  std::int64_t row;  // may be behind the last row
  std::int64_t first_column;

 private:
  static constexpr std::int64_t strips_of_row(std::int64_t size) { return (size + kStrip - 1) / kStrip; }
};

/// Adds transform(row, load(row)) for row = row_of(begin) … row_of(end - 1) to a chunk, in this order. kAtOnce rows
/// are loaded at once; behind the end, the last row again, because loads without conditions do not wait for each other.
template <int kAtOnce, class RowOf, class Load, class Transform>
EDGEWISE_DEVICE Floats4 add_in_order(Floats4 sum, std::int64_t begin, std::int64_t end, RowOf&& row_of, Load&& load,
                                     Transform&& transform) {
  for (std::int64_t first = begin; first < end; first += kAtOnce) {
    std::int64_t rows[kAtOnce];
    Floats4 values[kAtOnce];
    EDGEWISE_UNROLL
    for (int i = 0; i < kAtOnce; ++i) rows[i] = row_of(Minimum()(first + i, end - 1));
    EDGEWISE_UNROLL
    for (int i = 0; i < kAtOnce; ++i) values[i] = load(rows[i]);
    EDGEWISE_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      if (first + i < end) sum = add(sum, transform(rows[i], values[i]));
    }
  }
  return sum;
}

}  // namespace edgewise::kernels::gpu
