// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/kernels/gpu/device.h"
#include "edgewise/kernels/gpu/floats4.h"

// The division of the columns of a row among the threads of a block, so that most loads and stores move 4 floats at
// once, whatever the number of columns is; and of the rows of a matrix among warps, for kernels that move or sum rows.
namespace edgewise::kernels::gpu {

/// Selects the order in which a thread visits columns. kDescending suits a second pass over a row: the end of the row
/// is then still in the cache.
enum class ColumnOrder { kAscending, kDescending };

/// Columns that a thread visits together: kQuads groups of four, which are 4 * kThreads columns apart. The array of the
/// row is aligned to 16 bytes, and the first column is an element of the array whose index is a multiple of 4.
template <int kQuads, int kThreads>
struct QuadColumns {
  static constexpr int kSize = 4 * kQuads;
  int first;

  EDGEWISE_DEVICE int at(int i) const { return first + i / 4 * (4 * kThreads) + i % 4; }
};

struct OneColumn {
  static constexpr int kSize = 1;
  int first;

  EDGEWISE_DEVICE int at(int /*i*/) const { return first; }
};

/// The columns of a row, of which all but a few form groups of four floats that are aligned to 16 bytes.
class RowColumns {
 public:
  /// The row has `count` columns and begins with element `begin` of an array that is aligned to 16 bytes. Without
  /// `has_quads` each column is visited alone.
  EDGEWISE_DEVICE RowColumns(std::int64_t begin, int count, bool has_quads = true)
      : count_(count), head_(static_cast<int>(-begin & 3)) {
    if (!has_quads || head_ > count) head_ = count;
    num_quads_ = (count - head_) / 4;
  }

  /// Calls body(columns) with QuadColumns or OneColumn until all threads of a block have visited each column once. The
  /// columns of a thread depend only on the arguments of the constructor.
  template <int kThreads, int kQuads, ColumnOrder kOrder = ColumnOrder::kAscending, class Body>
  EDGEWISE_DEVICE void visit(Body&& body) const {
    const int thread = thread_index();
    const int num_groups = num_quads_ / (kQuads * kThreads);
    for (int i = 0; i < num_groups; ++i) {
      const int group = kOrder == ColumnOrder::kAscending ? i : num_groups - 1 - i;
      body(QuadColumns<kQuads, kThreads>{head_ + 4 * (group * kQuads * kThreads + thread)});
    }
    for (int quad = num_groups * kQuads * kThreads + thread; quad < num_quads_; quad += kThreads) {
      body(QuadColumns<1, kThreads>{head_ + 4 * quad});
    }
    for (int column = thread; column < head_; column += kThreads) body(OneColumn{column});
    for (int column = head_ + 4 * num_quads_ + thread; column < count_; column += kThreads) body(OneColumn{column});
  }

 private:
  int count_;
  int head_;  // columns before the first group
  int num_quads_;
};

/// Loads the numbers of a row at `columns`. T is float or BFloat16.
template <class Columns, typename T>
EDGEWISE_DEVICE void load_columns(const T* row, const Columns& columns, float (&value)[Columns::kSize]) {
  if constexpr (Columns::kSize == 1) {
    value[0] = row[columns.first];
  } else {
    EDGEWISE_UNROLL
    for (int i = 0; i < Columns::kSize; i += kChunk) {
      expect_aligned<kChunk * sizeof(T)>(row + columns.at(i));
      const Floats4 chunk = load_chunk</*kIsWide=*/true>(row + columns.at(i), kChunk);
      EDGEWISE_UNROLL
      for (int j = 0; j < kChunk; ++j) value[i + j] = chunk.at[j];
    }
  }
}

/// Stores the numbers of a row at `columns`, rounded to T.
template <class Columns, typename T>
EDGEWISE_DEVICE void store_columns(const float (&value)[Columns::kSize], const Columns& columns, T* row) {
  if constexpr (Columns::kSize == 1) {
    row[columns.first] = static_cast<T>(value[0]);
  } else {
    EDGEWISE_UNROLL
    for (int i = 0; i < Columns::kSize; i += kChunk) {
      expect_aligned<kChunk * sizeof(T)>(row + columns.at(i));
      store_chunk</*kIsWide=*/true>({value[i], value[i + 1], value[i + 2], value[i + 3]}, row + columns.at(i), kChunk);
    }
  }
}

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
