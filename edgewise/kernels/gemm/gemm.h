// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "edgewise/base/bfloat16.h"
#include "edgewise/kernels/gemm/activation.h"

// Products of matrices on raw memory. Shapes: M = rows of the result, N = its columns, K = depth, the length of a sum.
namespace edgewise::kernels {

enum class MatrixLayout { kRows, kColumns };

/// Element (i, j) is data[i * stride + j] with kRows and data[j * stride + i] with kColumns. The transpose of a matrix
/// is the same memory with the other layout.
template <typename T>
struct Matrix {
  const T* data;
  std::int64_t stride;
  MatrixLayout layout = MatrixLayout::kRows;

  std::int64_t row_step() const { return layout == MatrixLayout::kRows ? stride : 1; }
  std::int64_t column_step() const { return layout == MatrixLayout::kRows ? 1 : stride; }
  T at(std::int64_t row, std::int64_t column) const { return data[row * row_step() + column * column_step()]; }
};

struct PackedContent;  // gemm_parts.h

/// The right side of products, rounded to T, which is float or BFloat16, and in the memory layout that kernels::gemm
/// reads fastest.
template <typename T>
class PackedMatrix {
 public:
  PackedMatrix();
  ~PackedMatrix();
  PackedMatrix(PackedMatrix&& other) noexcept;
  PackedMatrix& operator=(PackedMatrix&& other) noexcept;

  /// Packs [K, N] and discards the previous content. Memory is kept for the next call.
  void pack(const Matrix<float>& from, std::int64_t depth, std::int64_t columns);

  /// Returns [K, N] in rows without gaps.
  std::vector<float> unpack() const;

  const PackedContent& content() const { return *content_; }

 private:
  std::unique_ptr<PackedContent> content_;
};

enum class GemmResult {
  kWrite,  // out = activation(a b + bias)
  kAdd,    // out += a b + bias
};

/// The arguments of a product out = a b. T and Out are float and float, BFloat16 and BFloat16, or BFloat16 and float;
/// sums are computed in float.
template <typename T, typename Out>
struct Gemm {
  std::int64_t rows;                          // M
  std::int64_t columns;                       // N
  std::int64_t depth;                         // K
  Matrix<T> a;                                // [M, K]
  Matrix<T> b = {};                           // [K, N]
  const PackedMatrix<T>* packed_b = nullptr;  // used instead of b if not null
  const float* bias = nullptr;                // [N], or null
  GemmActivation activation = GemmActivation::kNone;
  GemmResult result = GemmResult::kWrite;
  Out* out;  // [M, N], rows `out_stride` elements apart
  std::int64_t out_stride;
};

/// Returns whether bf16 products use bf16 instructions. If the machine has no such instructions or slow ones, gemm()
/// casts block by block and uses float instructions, with their speed. Results are equal up to the order of the sums.
bool has_native_bf16();

/// Runs a product on all threads, but with a packed b and up to 2048 rows on at most 9. Calls that differ only in M if
/// `a` is in rows, or only in K if `a` is in columns, share the code that oneDNN has compiled. The same arguments give
/// the same bits on any number of threads. The bits of a result row may depend on the number of rows; RowProduct
/// (row_product.h) promises that they do not. With M = 0 nothing happens; with K = 0 the sums are 0.
template <typename T, typename Out>
void gemm(const Gemm<T, Out>& product);

/// Lets oneDNN compile the code that all products of floats share, which otherwise happens in the first product.
/// Without memory for this code, oneDNN crashes: a program that needs much memory calls this function before it takes
/// the memory.
void prepare_gemm();

namespace reference {

template <typename T, typename Out>
void gemm(const Gemm<T, Out>& product);

}  // namespace reference

}  // namespace edgewise::kernels
