// SPDX-License-Identifier: Apache-2.0
// Products of small matrices that fit in cache, for attention by tiles. Compiled once for each instruction set.
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
#include <utility>

#include "edgewise/kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

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

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // EDGEWISE_KERNELS_ATTENTION_SMALL_GEMM_INL_H_
