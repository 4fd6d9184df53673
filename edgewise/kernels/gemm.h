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

/// The right side of products with matrices of type T, rounded to T and laid out as they read it fastest.
template <typename T>
class PackedMatrix {
 public:
  PackedMatrix();
  ~PackedMatrix();
  PackedMatrix(PackedMatrix&& other) noexcept;
  PackedMatrix& operator=(PackedMatrix&& other) noexcept;

  /// Packs [K, N] in place of what it held. Its memory only grows.
  void pack(const Matrix<float>& from, std::int64_t depth, std::int64_t columns);

  /// What it holds, in rows without gaps: [K, N].
  std::vector<float> unpacked() const;

  const PackedContent& content() const { return *content_; }

 private:
  std::unique_ptr<PackedContent> content_;
};

enum class GemmActivation { kNone, kRelu, kGelu };  // kGelu is the exact one, x * Phi(x)

enum class GemmResult {
  kWrite,  // out = activation(a b + bias)
  kAdd,    // out += a b + bias
};

/// The types are float and float, BFloat16 and BFloat16, or BFloat16 and float; sums are made in float.
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
};

/// Whether bf16 products run on instructions for them. Elsewhere, where there are none or slow ones, they run on
/// float's, block by block: equal up to the order of sums, and as fast as products of floats.
bool bf16_is_native();

/// Runs a product on all threads. What oneDNN compiles for it is kept: for products of M rows where `a` lies in rows,
/// of depth K where it lies in columns, so that neither need be the same from call to call. The same arguments on the
/// same number of threads give the same bits. With an M of 0 it does nothing; with a K of 0 sums are 0.
template <typename T, typename Out>
void gemm(const Gemm<T, Out>& product);

}  // namespace edgewise::kernels
