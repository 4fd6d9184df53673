// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "edgewise/kernels/simd/aligned_bytes.h"
#include "edgewise/kernels/gemm/finish_rows.h"
#include "edgewise/kernels/gemm/gemm.h"
#include "edgewise/kernels/loss/vocabulary_tile.h"

// Products of rows with a matrix that never changes, and what becomes of them, block by block of rows: a block is
// finished on the thread that made it, while it is in its cache. T is what is multiplied: float, BFloat16, or
// std::int8_t, whose rows and columns have scales. Shapes: R = rows, N = columns, K = depth.

namespace edgewise::kernels {

/// The matrix, laid out as this machine reads it fastest.
template <typename T>
class RowMatrix {
 public:
  /// Packs [K, N], rounded to T; for std::int8_t each column is divided by a scale of its own first.
  void pack(const Matrix<float>& from, std::int64_t depth, std::int64_t columns);

  std::int64_t depth() const { return depth_; }
  std::int64_t columns() const { return columns_; }

  /// [N], for std::int8_t.
  const float* scales() const { return scales_.data(); }

  /// One of these two: panels of cpu/panels.h, or what kernels::gemm reads.
  const void* panels() const { return panels_.data(); }
  const PackedMatrix<T>& packed() const { return packed_; }

 private:
  std::int64_t depth_ = 0;
  std::int64_t columns_ = 0;
  std::vector<float> scales_;
  AlignedBytes panels_;
  PackedMatrix<T> packed_;
};

/// activation(a b + bias). Each row of it has the same bits whatever rows are beside it, and on any number of threads.
template <typename T>
struct RowProduct {
  std::int64_t rows;
  const T* a;                     // [R, K], without gaps
  const float* scales = nullptr;  // [R], for std::int8_t
  const RowMatrix<T>* b;
  const float* bias = nullptr;  // [N], or null
  GemmActivation activation = GemmActivation::kNone;
  std::int64_t spare_rows = 0;  // behind those of a and of what is written: they may be read and overwritten
};

/// To `out`, [R, N] without gaps.
template <typename T>
void write_product(const RowProduct<T>& product, float* out);

/// finish_rows of it, as the values of `finish`.
template <typename T>
void finish_product(const RowProduct<T>& product, const FinishRows<T>& finish);

/// see_tile of it, as the values of `tile`.
template <typename T>
void see_product(const RowProduct<T>& product, const VocabularyTile& tile);

}  // namespace edgewise::kernels
