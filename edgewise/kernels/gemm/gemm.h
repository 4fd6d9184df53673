// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "edgewise/base/bfloat16.h"

// Products of matrices on raw memory. Shapes: M = rows of the result, N = its columns, K = what a sum runs over.

namespace edgewise::kernels {

enum class MatrixLayout { kRows, kColumns };

/// Element (i, j) lies at data[i * stride + j] in a layout of rows, at data[j * stride + i] in one of columns: the
/// transpose of a matrix is the same memory in the other layout.
template <typename T>
struct Matrix {
  const T* data;
  std::int64_t stride;
  MatrixLayout layout = MatrixLayout::kRows;
};

struct PackedContent;  // cpu/packed_matrix.h

/// The right side of products with matrices of type T, rounded to T and laid out as they read it fastest. For
/// std::int8_t each column is divided by a scale of its own first, so that its largest number becomes 127, or 63 on a
/// machine whose products of 8 bits overflow beyond that.
template <typename T>
class PackedMatrix {
 public:
  PackedMatrix();
  ~PackedMatrix();
  PackedMatrix(PackedMatrix&& other) noexcept;
  PackedMatrix& operator=(PackedMatrix&& other) noexcept;

  /// Packs [K, N] in place of what it held. Its memory only grows.
  void pack(const Matrix<float>& from, std::int64_t depth, std::int64_t columns);

  /// What it holds, in rows without gaps: [K, N]. For std::int8_t not multiplied by the scales.
  std::vector<float> unpacked() const;

  std::int64_t depth() const;
  std::int64_t columns() const;

  /// [N], for std::int8_t.
  const float* scales() const;

  const PackedContent& content() const { return *content_; }

 private:
  std::unique_ptr<PackedContent> content_;
};

enum class GemmActivation { kNone, kRelu, kGelu };  // kGelu is the exact one, x * Phi(x)

enum class GemmResult {
  kWrite,  // out = activation(a b + bias)
  kAdd,    // out += a b + bias
};

/// The types are float and float, BFloat16 and BFloat16, or BFloat16 and float; sums are made in float. Or std::int8_t
/// and std::int32_t, whose sums are exact up to a K of 130 000: these are written as they are, from a packed b.
template <typename T, typename Out>
struct Gemm {
  std::int64_t rows;                          // M
  std::int64_t columns;                       // N
  std::int64_t depth;                         // K
  Matrix<T> a;                                // [M, K]
  Matrix<T> b = {};                           // [K, N]
  const PackedMatrix<T>* packed_b = nullptr;  // in its place
  const float* bias = nullptr;                // [N], or null
  GemmActivation activation = GemmActivation::kNone;
  GemmResult result = GemmResult::kWrite;
  Out* out;  // [M, N], rows that begin `out_stride` apart
  std::int64_t out_stride;
  std::int64_t spare_rows = 0;  // of a and out behind the M: may be read and overwritten, which saves copies
};

/// Whether bf16 products run on instructions for them. Elsewhere, where there are none or slow ones, they run on
/// float's, block by block: equal up to the order of sums, and as fast as products of floats.
bool bf16_is_native();

/// Runs a product on all threads. What oneDNN compiles for it is kept: for products of M rows where `a` lies in rows,
/// of depth K where it lies in columns, so that neither need be the same from call to call. The same arguments on the
/// same number of threads give the same bits; with a packed b, each row of the result has the same bits whatever rows
/// are beside it, and on any number of threads, as long as the stride of a is the same. With an M of 0 it does nothing;
/// with a K of 0 sums are 0.
template <typename T, typename Out>
void gemm(const Gemm<T, Out>& product);

}  // namespace edgewise::kernels
