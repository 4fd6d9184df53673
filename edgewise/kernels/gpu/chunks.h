// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "edgewise/base/bfloat16.h"
#include "edgewise/kernels/gpu/device.h"

// Kernels that are as fast as the memory compute four consecutive numbers at a time, a chunk: 16 bytes of float or 8 of
// BFloat16, and the four random words of a Philox block. A kernel with kIsWide computes arrays whose rows begin at
// multiples of a chunk and consist of whole chunks, and loads a chunk at once. A kernel without kIsWide, for rows of
// any size, loads number by number.
//
// QuadColumns to RowColumns divide the columns of a row among the threads of a block, so that most loads and stores
// move 4 floats at once, whatever the number of columns is. RowStrips divides the rows of a matrix among warps, for
// kernels that move or sum rows.
namespace edgewise::kernels::gpu {

inline constexpr int kChunk = 4;

/// The numbers of a chunk as floats.
struct alignas(16) Floats4 {
  float at[kChunk];
};

/// The numbers of a chunk in memory as BFloat16.
struct alignas(8) Bf16x4 {
  BFloat16 at[kChunk];
};

namespace detail {
struct alignas(8) TwoWords {
  std::uint32_t words[2];
};

EDGEWISE_DEVICE Floats4 unpack(TwoWords packed) {
  return {low_bf16(packed.words[0]), high_bf16(packed.words[0]), low_bf16(packed.words[1]), high_bf16(packed.words[1])};
}

EDGEWISE_DEVICE TwoWords pack(const Floats4& values) {
  return {pack_bf16(values.at[0], values.at[1]), pack_bf16(values.at[2], values.at[3])};
}
}  // namespace detail

/// Loads the first `count` numbers of a chunk; the others are 0. T is float or BFloat16. A wide chunk
/// has all numbers, or none if `count` is not above 0.
template <bool kIsWide, typename T>
EDGEWISE_DEVICE Floats4 load_chunk(const T* from, std::int64_t count) {
  Floats4 values = {};
  if constexpr (!kIsWide) {
    EDGEWISE_UNROLL
    for (int i = 0; i < kChunk; ++i) {
      if (i < count) values.at[i] = from[i];
    }
  } else if (count > 0) {
    if constexpr (std::is_same_v<T, float>) {
      values = *reinterpret_cast<const Floats4*>(from);
    } else {
      values = detail::unpack(std::bit_cast<detail::TwoWords>(*reinterpret_cast<const Bf16x4*>(from)));
    }
  }
  return values;
}

/// Stores the numbers of a chunk that exist, rounded to T.
template <bool kIsWide, typename T>
EDGEWISE_DEVICE void store_chunk(const Floats4& values, T* to, std::int64_t count) {
  if constexpr (!kIsWide) {
    EDGEWISE_UNROLL
    for (int i = 0; i < kChunk; ++i) {
      if (i < count) to[i] = static_cast<T>(values.at[i]);
    }
  } else if (count > 0) {
    if constexpr (std::is_same_v<T, float>) {
      *reinterpret_cast<Floats4*>(to) = values;
    } else {
      *reinterpret_cast<Bf16x4*>(to) = std::bit_cast<Bf16x4>(detail::pack(values));
    }
  }
}

/// Returns the numbers as store_chunk<T>() stores them.
template <typename T>
EDGEWISE_DEVICE Floats4 round_chunk(const Floats4& values) {
  if constexpr (std::is_same_v<T, float>) {
    return values;
  } else {
    return detail::unpack(detail::pack(values));
  }
}

EDGEWISE_DEVICE Floats4 multiply(const Floats4& a, const Floats4& b) {
  Floats4 product;
  EDGEWISE_UNROLL
  for (int i = 0; i < kChunk; ++i) product.at[i] = a.at[i] * b.at[i];
  return product;
}

EDGEWISE_DEVICE Floats4 add(const Floats4& a, const Floats4& b) {
  Floats4 sum;
  EDGEWISE_UNROLL
  for (int i = 0; i < kChunk; ++i) sum.at[i] = a.at[i] + b.at[i];
  return sum;
}

constexpr bool is_wide(std::int64_t size) { return size % kChunk == 0; }

/// Calls call(std::bool_constant<kIsWide>()).
template <class Call>
void with_width(std::int64_t size, Call&& call) {
  is_wide(size) ? call(std::true_type()) : call(std::false_type());
}

/// Divides a flat array among blocks of kThreads threads. A thread has kChunks chunks, which it loads before it stores
/// the first one, and neighbouring threads have neighbouring chunks.
template <int kThreads, int kChunks>
struct FlatChunks {
  static constexpr std::int64_t kNumbersOfBlock = std::int64_t{kThreads} * kChunks * kChunk;

  static int num_blocks(std::int64_t count) {
    return static_cast<int>((count + kNumbersOfBlock - 1) / kNumbersOfBlock);
  }

  /// Returns the index of the first number of this thread's chunk number c.
  EDGEWISE_DEVICE static std::int64_t first(int c) {
    return block_index() * kNumbersOfBlock + std::int64_t{c * kThreads + thread_index()} * kChunk;
  }
};

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

/// The columns of a row. All but a few columns form groups of four floats that are aligned to 16 bytes.
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

  /// Loads this lane's chunks of a row of `size` numbers.
  template <bool kIsWide, typename T>
  EDGEWISE_DEVICE void load(const T* from, std::int64_t size, Floats4 (&values)[kChunks]) const {
    EDGEWISE_UNROLL
    for (int c = 0; c < kChunks; ++c) values[c] = load_chunk<kIsWide>(from + column(c), size - column(c));
  }

  template <bool kIsWide, typename T>
  EDGEWISE_DEVICE void store(const Floats4 (&values)[kChunks], T* to, std::int64_t size) const {
    EDGEWISE_UNROLL
    for (int c = 0; c < kChunks; ++c) store_chunk<kIsWide>(values[c], to + column(c), size - column(c));
  }

  std::int64_t row;  // may be after the last row
  std::int64_t first_column;

 private:
  static constexpr std::int64_t strips_of_row(std::int64_t size) { return (size + kStrip - 1) / kStrip; }
};

/// Adds transform(row, load(row)) for row = row_of(begin) … row_of(end - 1) to a chunk, in this order. kAtOnce rows
/// are loaded at once; after the end, the last row again, because loads without conditions do not wait for each other.
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
