// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/base/bfloat16.h"
#include "edgewise/kernels/device/device.h"

// Divides the columns of a row among the threads of a block, so that most loads and stores move 4 floats at once,
// whatever the number of columns is.
namespace edgewise::kernels::device {

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

struct FloatQuad {
  alignas(16) float at[4];
};

struct Bf16Quad {
  alignas(8) std::uint32_t pairs[2];
};

/// Loads the numbers of a row at `columns`.
template <class Columns>
EDGEWISE_DEVICE void load_columns(const float* row, const Columns& columns, float (&value)[Columns::kSize]) {
  if constexpr (Columns::kSize == 1) {
    value[0] = row[columns.first];
  } else {
    EDGEWISE_UNROLL
    for (int i = 0; i < Columns::kSize; i += 4) {
      expect_aligned<sizeof(FloatQuad)>(row + columns.at(i));
      const FloatQuad quad = *reinterpret_cast<const FloatQuad*>(row + columns.at(i));
      EDGEWISE_UNROLL
      for (int j = 0; j < 4; ++j) value[i + j] = quad.at[j];
    }
  }
}

template <class Columns>
EDGEWISE_DEVICE void load_columns(const BFloat16* row, const Columns& columns, float (&value)[Columns::kSize]) {
  if constexpr (Columns::kSize == 1) {
    value[0] = row[columns.first];
  } else {
    EDGEWISE_UNROLL
    for (int i = 0; i < Columns::kSize; i += 4) {
      expect_aligned<sizeof(Bf16Quad)>(row + columns.at(i));
      const Bf16Quad quad = *reinterpret_cast<const Bf16Quad*>(row + columns.at(i));
      EDGEWISE_UNROLL
      for (int j = 0; j < 2; ++j) {
        value[i + 2 * j] = low_bf16(quad.pairs[j]);
        value[i + 2 * j + 1] = high_bf16(quad.pairs[j]);
      }
    }
  }
}

template <class Columns>
EDGEWISE_DEVICE void store_columns(const float (&value)[Columns::kSize], const Columns& columns, float* row) {
  if constexpr (Columns::kSize == 1) {
    row[columns.first] = value[0];
  } else {
    EDGEWISE_UNROLL
    for (int i = 0; i < Columns::kSize; i += 4) {
      expect_aligned<sizeof(FloatQuad)>(row + columns.at(i));
      *reinterpret_cast<FloatQuad*>(row + columns.at(i)) = {value[i], value[i + 1], value[i + 2], value[i + 3]};
    }
  }
}

template <class Columns>
EDGEWISE_DEVICE void store_columns(const float (&value)[Columns::kSize], const Columns& columns, BFloat16* row) {
  if constexpr (Columns::kSize == 1) {
    row[columns.first] = BFloat16(value[0]);
  } else {
    EDGEWISE_UNROLL
    for (int i = 0; i < Columns::kSize; i += 4) {
      expect_aligned<sizeof(Bf16Quad)>(row + columns.at(i));
      *reinterpret_cast<Bf16Quad*>(row + columns.at(i)) = {pack_bf16(value[i], value[i + 1]),
                                                           pack_bf16(value[i + 2], value[i + 3])};
    }
  }
}

}  // namespace edgewise::kernels::device
