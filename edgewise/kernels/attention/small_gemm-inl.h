// SPDX-License-Identifier: Apache-2.0

// Products of small matrices that lie in cache, as attention on tiles is made of. Compiled once for each instruction
// set: include after hwy/foreach_target.h.
#if defined(EDGEWISE_KERNELS_CPU_SMALL_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_CPU_SMALL_GEMM_INL_H_
#undef EDGEWISE_KERNELS_CPU_SMALL_GEMM_INL_H_
#else
#define EDGEWISE_KERNELS_CPU_SMALL_GEMM_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "edgewise/kernels/simd/cast-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr std::int64_t kLanes = hn::MaxLanes(FloatTag());

inline constexpr std::int64_t vectors_for(std::int64_t count) { return (count + kLanes - 1) / kLanes; }
inline constexpr std::int64_t padded(std::int64_t count) { return vectors_for(count) * kLanes; }

/// Element (m, k) is data[m * row + k * column]: a matrix or its transpose.
struct LeftOperand {
  const float* data;
  std::int64_t row;
  std::int64_t column;
};

/// Element (k, n) is data[k * row + n].
struct RightOperand {
  const float* data;
  std::int64_t row;
};

/// Element (m, n) is data[m * row + n].
struct Product {
  float* data;
  std::int64_t row;
};

enum class Into { kOverwrite, kAdd };

/// How many sums a product keeps in registers: all but those for the factors.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
inline constexpr int kSums = 24;
#else
inline constexpr int kSums = 12;
#endif
inline constexpr int kMostVectors = kSums == 24 ? 4 : 3;
inline constexpr int kMostRows = 12;

/// Rows that go through the registers at once beside `vectors` vectors.
inline constexpr int rows_beside(int vectors) { return std::min(kMostRows, kSums / vectors); }

// Each sum runs over k in ascending order, whatever the block it is in: how a product is cut never changes a bit.
template <int kRows, int kVectors>
void multiply_block(const LeftOperand& a, const RightOperand& b, const Product& c, std::int64_t depth, Into into) {
  const FloatTag d;
  Floats sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 4
    for (int n = 0; n < kVectors; ++n) {
      sum[m][n] = into == Into::kAdd ? hn::LoadU(d, c.data + m * c.row + n * kLanes) : hn::Zero(d);
    }
  }
  // Every fourth row has a pointer, so that rows need no more registers than addresses can combine.
  const std::int64_t row = a.row;
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
    b_k += b.row;
#pragma GCC unroll 4
    for (int quad = 0; quad < (kRows + 3) / 4; ++quad) a_quad[quad] += a.column;
  }
#pragma GCC unroll 16
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 4
    for (int n = 0; n < kVectors; ++n) hn::StoreU(sum[m][n], d, c.data + m * c.row + n * kLanes);
  }
}

using MultiplyBlock = void (*)(const LeftOperand&, const RightOperand&, const Product&, std::int64_t, Into);

template <int kVectors, int... kRowsLessOne>
constexpr auto blocks_of(std::integer_sequence<int, kRowsLessOne...>) {
  return std::array<MultiplyBlock, kMostRows>{&multiply_block<kRowsLessOne + 1, kVectors>...};
}

template <int... kVectorsLessOne>
constexpr auto all_blocks(std::integer_sequence<int, kVectorsLessOne...>) {
  return std::array{
      blocks_of<kVectorsLessOne + 1>(std::make_integer_sequence<int, rows_beside(kVectorsLessOne + 1)>())...};
}

/// c = a b, or c += a b, for up to kMostVectors vectors of columns and rows_beside(vectors) rows.
inline void multiply_block(int rows, int vectors, const LeftOperand& a, const RightOperand& b, const Product& c,
                           std::int64_t depth, Into into) {
  static constexpr auto kBlocks = all_blocks(std::make_integer_sequence<int, kMostVectors>());
  kBlocks[vectors - 1][rows - 1](a, b, c, depth, into);
}

/// Cuts `count` into pieces of at most `most`, as equal as can be, and calls fn(begin, size) for each.
template <class Fn>
void for_even_pieces(std::int64_t count, std::int64_t most, Fn fn) {
  const std::int64_t pieces = (count + most - 1) / most;
  std::int64_t begin = 0;
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    const std::int64_t size = count / pieces + (piece < count % pieces ? 1 : 0);
    fn(begin, static_cast<int>(size));
    begin += size;
  }
}

/// c = a b, or c += a b, of `rows` rows and `columns` columns (whole vectors). `depth_of(first_row, count)` is the
/// range of k outside of which these rows of a are zero; what lies there is not read.
template <class DepthOf>
void multiply(std::int64_t rows, std::int64_t columns, const LeftOperand& a, const RightOperand& b, const Product& c,
              Into into, DepthOf depth_of) {
  const std::int64_t vectors = columns / kLanes;
  const std::int64_t pieces = (vectors + kMostVectors - 1) / kMostVectors;
  const std::int64_t widest = (vectors + pieces - 1) / pieces;
  for_even_pieces(rows, rows_beside(static_cast<int>(widest)), [&](std::int64_t m, int count) {
    const auto k = depth_of(m, count);
    const LeftOperand a_part = {a.data + m * a.row + k.begin * a.column, a.row, a.column};
    for_even_pieces(vectors, kMostVectors, [&](std::int64_t vector, int num_vectors) {
      const std::int64_t n = vector * kLanes;
      multiply_block(count, num_vectors, a_part, {b.data + k.begin * b.row + n, b.row}, {c.data + m * c.row + n, c.row},
                     k.end - k.begin, into);
    });
  });
}

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // EDGEWISE_KERNELS_CPU_SMALL_GEMM_INL_H_
