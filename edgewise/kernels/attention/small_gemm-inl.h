// SPDX-License-Identifier: Apache-2.0
// Products of small matrices that fit in cache, for attention by tiles. Rows of float or bf16 tensors are packed into
// matrices of floats whose rows end in zeros up to whole vectors, so that products have no partial vectors. Compiled
// once for each instruction set.
#if defined(EDGEWISE_KERNELS_ATTENTION_SMALL_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_ATTENTION_SMALL_GEMM_INL_H_
#undef EDGEWISE_KERNELS_ATTENTION_SMALL_GEMM_INL_H_
#else
#define EDGEWISE_KERNELS_ATTENTION_SMALL_GEMM_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "edgewise/kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {

/// A matrix or its transpose: element (m, k) is data[m * row_stride + k * column_stride].
struct LeftOperand {
  const float* data;
  std::int64_t row_stride;
  std::int64_t column_stride;
};

/// A matrix whose element (k, n) is data[k * row_stride + n].
struct RightOperand {
  const float* data;
  std::int64_t row_stride;
};

/// A matrix whose element (m, n) is data[m * row_stride + n].
struct OutputMatrix {
  float* data;
  std::int64_t row_stride;
};

enum class WriteMode { kOverwrite, kAdd };

/// The number of vectors of sums that a product keeps in registers; the other registers hold its factors.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
inline constexpr int kSums = 24;
#else
inline constexpr int kSums = 12;
#endif
inline constexpr int kMaxVectors = kSums == 24 ? 4 : 3;
inline constexpr int kMaxRows = 12;

/// Returns how many rows of sums fit in the registers, at `vectors` vectors per row.
inline constexpr int rows_for(int vectors) { return std::min(kMaxRows, kSums / vectors); }

// Adds up each sum in ascending order of k, so that the division into blocks does not change the bits of a product.
template <int kRows, int kVectors>
void multiply_block(const LeftOperand& a, const RightOperand& b, const OutputMatrix& c, std::int64_t depth,
                    WriteMode mode) {
  const FloatTag d;
  Floats sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 4
    for (int n = 0; n < kVectors; ++n) {
      sum[m][n] = mode == WriteMode::kAdd ? hn::LoadU(d, c.data + m * c.row_stride + n * kLanes) : hn::Zero(d);
    }
  }
  // Keeps a pointer to every fourth row only: the address of a row adds at most three row strides to a pointer.
  const std::int64_t row = a.row_stride;
  const std::int64_t three_rows = 3 * row;
  const float* a_quad[(kRows + 3) / 4];
#pragma GCC unroll 4
  for (int quad = 0; quad < (kRows + 3) / 4; ++quad) a_quad[quad] = a.data + std::int64_t{4} * quad * row;
  const float* b_k = b.data;
  for (std::int64_t k = 0; k < depth; ++k) {
    Floats right[kVectors];
#pragma GCC unroll 4
    for (int n = 0; n < kVectors; ++n) right[n] = hn::LoadU(d, b_k + n * kLanes);
#pragma GCC unroll 16
    for (int m = 0; m < kRows; ++m) {
      const float* at = a_quad[m / 4];
      const auto left = hn::Set(d, m % 4 == 0 ? *at : m % 4 == 1 ? at[row] : m % 4 == 2 ? at[2 * row] : at[three_rows]);
#pragma GCC unroll 4
      for (int n = 0; n < kVectors; ++n) sum[m][n] = hn::MulAdd(left, right[n], sum[m][n]);
    }
    b_k += b.row_stride;
#pragma GCC unroll 4
    for (int quad = 0; quad < (kRows + 3) / 4; ++quad) a_quad[quad] += a.column_stride;
  }
#pragma GCC unroll 16
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 4
    for (int n = 0; n < kVectors; ++n) hn::StoreU(sum[m][n], d, c.data + m * c.row_stride + n * kLanes);
  }
}

using MultiplyBlock = void (*)(const LeftOperand&, const RightOperand&, const OutputMatrix&, std::int64_t, WriteMode);

template <int kVectors, int... kRowsLessOne>
constexpr auto blocks_of(std::integer_sequence<int, kRowsLessOne...>) {
  return std::array<MultiplyBlock, kMaxRows>{&multiply_block<kRowsLessOne + 1, kVectors>...};
}

template <int... kVectorsLessOne>
constexpr auto all_blocks(std::integer_sequence<int, kVectorsLessOne...>) {
  return std::array{
      blocks_of<kVectorsLessOne + 1>(std::make_integer_sequence<int, rows_for(kVectorsLessOne + 1)>())...};
}

/// Computes c = a b, or c += a b, for up to kMaxVectors vectors of columns and rows_for(vectors) rows.
inline void multiply_block(int rows, int vectors, const LeftOperand& a, const RightOperand& b, const OutputMatrix& c,
                           std::int64_t depth, WriteMode mode) {
  static constexpr auto kBlocks = all_blocks(std::make_integer_sequence<int, kMaxVectors>());
  kBlocks[vectors - 1][rows - 1](a, b, c, depth, mode);
}

/// Calls fn(begin, size) for the fewest parts of [0, count) of at most max_size, whose sizes differ by at most 1.
template <class Fn>
void for_even_parts(std::int64_t count, std::int64_t max_size, Fn fn) {
  const std::int64_t parts = (count + max_size - 1) / max_size;
  std::int64_t begin = 0;
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t size = count / parts + (part < count % parts ? 1 : 0);
    fn(begin, static_cast<int>(size));
    begin += size;
  }
}

/// Computes c = a b, or c += a b, for `rows` rows and `columns` columns (whole vectors). depth_of(first_row, count)
/// returns the range of k outside of which these rows of a are zero. Elements outside the range are not read.
template <class DepthOf>
void multiply(std::int64_t rows, std::int64_t columns, const LeftOperand& a, const RightOperand& b,
              const OutputMatrix& c, WriteMode mode, DepthOf depth_of) {
  const std::int64_t vectors = columns / kLanes;
  const std::int64_t parts = (vectors + kMaxVectors - 1) / kMaxVectors;
  const std::int64_t widest = (vectors + parts - 1) / parts;
  for_even_parts(rows, rows_for(static_cast<int>(widest)), [&](std::int64_t m, int count) {
    const auto k = depth_of(m, count);
    const LeftOperand a_part = {a.data + m * a.row_stride + k.begin * a.column_stride, a.row_stride, a.column_stride};
    for_even_parts(vectors, kMaxVectors, [&](std::int64_t vector, int num_vectors) {
      const std::int64_t n = vector * kLanes;
      multiply_block(count, num_vectors, a_part, {b.data + k.begin * b.row_stride + n, b.row_stride},
                     {c.data + m * c.row_stride + n, c.row_stride}, k.end - k.begin, mode);
    });
  });
}

/// `count` rows of `size` elements each, `stride` elements apart.
template <typename T>
struct StridedRows {
  T* data;
  std::int64_t count;
  std::int64_t size;
  std::int64_t stride;

  T* row(std::int64_t i) const { return data + i * stride; }
};

/// Writes factor * rows to `to` [rows.count, padded_size(rows.size)], with zeros in the padding.
template <typename T>
void pack(const StridedRows<const T>& rows, float factor, float* to) {
  const auto factors = hn::Set(FloatTag(), factor);
  for (std::int64_t i = 0; i < rows.count; ++i) {
    const T* from = rows.row(i);
    for_each_vector(rows.size, [&](std::int64_t k, auto part)
                                   HWY_ATTR { hn::Store(hn::Mul(factors, load(part, from + k)), FloatTag(), to + k); });
    to += padded_size(rows.size);
  }
}

/// Rows of floats, `stride` apart, that end in zeros up to whole vectors.
struct PaddedMatrix {
  const float* data;
  std::int64_t stride;
};

/// The most rows of a tensor that products read in place. The rows of one head are far apart and compete for the same
/// sets of the first-level cache: a contiguous copy of more rows is faster.
inline constexpr std::int64_t kMaxRowsInPlace = 32;

/// Returns a view of the rows if products can read the rows in place. Otherwise, packs them into `buffer`
/// [rows.count, padded_size(rows.size)] and returns this copy.
template <typename T>
PaddedMatrix view_or_pack(const StridedRows<const T>& rows, float* buffer) {
  if constexpr (std::is_same_v<T, float>) {
    if (rows.size % kLanes == 0 && rows.count <= kMaxRowsInPlace) return {rows.data, rows.stride};
  }
  pack(rows, 1.0f, buffer);
  return {buffer, padded_size(rows.size)};
}

/// Finds infinities and NaN among numbers: the product of such a number and 0 is NaN.
class FiniteCheck {
 public:
  HWY_INLINE FiniteCheck() : sum_(hn::Zero(FloatTag())) {}
  HWY_INLINE void add(Floats values) { sum_ = hn::MulAdd(values, hn::Zero(FloatTag()), sum_); }
  HWY_INLINE bool are_all_finite() const { return hn::AllFalse(FloatTag(), hn::IsNaN(sum_)); }

 private:
  Floats sum_;
};

/// Writes rows[i] = factor_of(i) * from[i], where `from` is [rows.count, padded_size(rows.size)]. Returns whether all
/// these numbers are finite.
template <typename T, class FactorOf>
bool unpack(const float* from, const StridedRows<T>& rows, FactorOf factor_of) {
  FiniteCheck check;
  for (std::int64_t i = 0; i < rows.count; ++i) {
    const auto factor = hn::Set(FloatTag(), factor_of(i));
    T* to = rows.row(i);
    for_each_vector(rows.size, [&](std::int64_t k, auto part) HWY_ATTR {
      const auto values = hn::Mul(factor, hn::Load(FloatTag(), from + k));
      check.add(values);
      store(part, values, to + k);
    });
    from += padded_size(rows.size);
  }
  return check.are_all_finite();
}

template <typename T>
bool unpack(const float* from, const StridedRows<T>& rows) {
  return unpack(from, rows, [](std::int64_t) { return 1.0f; });
}

/// Returns whether all numbers of rows are finite. The size of a row must be a multiple of kLanes.
inline bool are_finite(const StridedRows<float>& rows) {
  FiniteCheck check;
  for (std::int64_t i = 0; i < rows.count; ++i) {
    for (std::int64_t k = 0; k < rows.size; k += kLanes) check.add(hn::LoadU(FloatTag(), rows.row(i) + k));
  }
  return check.are_all_finite();
}

/// A matrix [depth, columns] in panels of kMaxVectors vectors of columns; the last panel may have fewer. Each panel is
/// contiguous, so that it fits in the first-level cache.
struct ColumnPanels {
  const float* data;
  std::int64_t depth;    // a multiple of kLanes
  std::int64_t columns;  // a multiple of kLanes
  std::int64_t terms;    // the rows from this one on are zeros

  static constexpr std::int64_t kColumns = kMaxVectors * kLanes;

  std::int64_t width(std::int64_t panel_begin) const { return std::min(kColumns, columns - panel_begin); }

  /// Returns the columns from `column` on of the panel that begins at column `panel_begin`.
  RightOperand columns_from(std::int64_t panel_begin, std::int64_t column) const {
    return {data + panel_begin * depth + (column - panel_begin), width(panel_begin)};
  }
};

// transpose_strip writes the transpose of `from` [kLanes, depth] to `to` [depth, kLanes], whose rows are `to_stride`
// floats apart. depth is a multiple of kLanes.
#if HWY_TARGET == HWY_SCALAR
inline void transpose_strip(const PaddedMatrix& from, std::int64_t depth, float* to, std::int64_t to_stride) {
  for (std::int64_t k = 0; k < depth; ++k) to[k * to_stride] = from.data[k];
}

#else
// Loads four floats of every fourth row into one vector, row after row. Two such rows are `four_rows` floats apart.
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const float* from, std::int64_t four_rows) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    const std::int64_t rows_in_half = static_cast<std::int64_t>(hn::MaxLanes(half)) / 4 * four_rows;
    return hn::Combine(d, load_blocks(half, from + rows_in_half, four_rows), load_blocks(half, from, four_rows));
  }
}

inline void transpose_strip(const PaddedMatrix& from, std::int64_t depth, float* to, std::int64_t to_stride) {
  const FloatTag d;
  const hn::RepartitionToWide<FloatTag> pairs;
  const std::int64_t stride = from.stride;
  for (std::int64_t k = 0; k < depth; k += 4) {
    const auto row0 = load_blocks(d, from.data + k, 4 * stride);
    const auto row1 = load_blocks(d, from.data + k + stride, 4 * stride);
    const auto row2 = load_blocks(d, from.data + k + 2 * stride, 4 * stride);
    const auto row3 = load_blocks(d, from.data + k + 3 * stride, 4 * stride);
    // After interleaving twice, each block of four lanes holds the elements of four rows at one k.
    const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, row0, row1));
    const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, row2, row3));
    const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, row0, row1));
    const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, row2, row3));
    hn::Store(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, to + k * to_stride);
    hn::Store(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, to + (k + 1) * to_stride);
    hn::Store(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, to + (k + 2) * to_stride);
    hn::Store(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, to + (k + 3) * to_stride);
  }
}
#endif

/// Writes the transpose of `from` [count, size] to `to` as panels [padded_size(size), padded_size(count)], with zeros
/// in the columns beyond `count`. `strip` is a buffer for [kLanes, padded_size(size)].
inline ColumnPanels transpose(const PaddedMatrix& from, std::int64_t count, std::int64_t size, float* strip,
                              float* to) {
  const std::int64_t depth = padded_size(size);
  const ColumnPanels panels = {to, depth, padded_size(count), size};
  for (std::int64_t panel = 0; panel < panels.columns; panel += ColumnPanels::kColumns) {
    const std::int64_t width = panels.width(panel);
    for (std::int64_t column = panel; column < panel + width; column += kLanes) {
      PaddedMatrix rows = {from.data + column * from.stride, from.stride};
      if (count - column < kLanes) {
        const std::int64_t num_rows = count - column;
        pack(StridedRows<const float>{rows.data, num_rows, depth, rows.stride}, 1.0f, strip);
        std::fill_n(strip + num_rows * depth, (kLanes - num_rows) * depth, 0.0f);
        rows = {strip, depth};
      }
      transpose_strip(rows, depth, to + panel * depth + (column - panel), width);
    }
  }
  return panels;
}

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // EDGEWISE_KERNELS_ATTENTION_SMALL_GEMM_INL_H_
