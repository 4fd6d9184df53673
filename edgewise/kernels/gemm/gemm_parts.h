// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include "edgewise/kernels/gemm/gemm.h"
#include "edgewise/kernels/gemm/gemm_onednn.h"
#include "edgewise/kernels/simd/scratch.h"

// The parts of kernels::gemm: the implementations that it chooses from, besides the reference, and their arguments.
namespace edgewise::kernels {

/// The content of a PackedMatrix. Type and layout select the implementation of the product.
struct PackedContent {
  onednn::ElementType type = onednn::ElementType::kFloat;  // kFloat also for bf16 without native bf16 products
  onednn::RightLayout layout = onednn::RightLayout::kRows;
  std::int64_t depth = 0;
  std::int64_t columns = 0;
  AlignedBuffer bytes = {};
};

namespace cpu {

/// The right matrix of a product, in any layout.
template <typename T>
struct RightMatrix {
  const T* data;
  std::int64_t stride;
  onednn::RightLayout layout;
};

/// A Gemm, or a part of its rows or of its depth. The members have the meaning of Gemm's members.
template <typename T, typename Out>
struct GemmSlice {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
  Matrix<T> a;
  RightMatrix<T> b;
  const float* bias;
  GemmActivation activation;
  GemmResult result;
  Out* out;
  std::int64_t out_stride;

  /// Returns `count` rows from `first` on.
  GemmSlice slice_rows(std::int64_t first, std::int64_t count) const { return slice_tile(first, count, 0, columns); }

  /// Returns a part of the rows and columns of the result. If `b` is packed, the part must have all columns.
  GemmSlice slice_tile(std::int64_t first_row, std::int64_t row_count, std::int64_t first_column,
                       std::int64_t column_count) const {
    GemmSlice part = *this;
    part.rows = row_count;
    part.columns = column_count;
    part.a.data += first_row * a.row_step();
    part.b.data += first_column * (b.layout == onednn::RightLayout::kColumns ? b.stride : 1);
    if (bias != nullptr) part.bias += first_column;
    part.out += first_row * out_stride + first_column;
    return part;
  }

  /// Returns `count` terms of each sum from `first` on; slices with first > 0 add to the result. `a` must be in columns
  /// and `b` in rows.
  GemmSlice slice_depth(std::int64_t first, std::int64_t count) const {
    GemmSlice part = *this;
    part.depth = count;
    part.a.data += first * a.stride;
    part.b.data += first * b.stride;
    if (first > 0) part.result = GemmResult::kAdd;
    return part;
  }
};

template <typename T>
RightMatrix<T> to_right_matrix(const Matrix<T>& b) {
  return {b.data, b.stride,
          b.layout == MatrixLayout::kRows ? onednn::RightLayout::kRows : onednn::RightLayout::kColumns};
}

template <typename T, typename PackedType>
RightMatrix<T> to_right_matrix(const PackedMatrix<PackedType>& packed) {
  const auto& content = packed.content();
  return {static_cast<const T*>(content.bytes.data()), content.columns, content.layout};
}

template <typename T, typename Out>
GemmSlice<T, Out> slice_all(const Gemm<T, Out>& gemm) {
  return {.rows = gemm.rows,
          .columns = gemm.columns,
          .depth = gemm.depth,
          .a = gemm.a,
          .b = gemm.packed_b != nullptr ? to_right_matrix<T>(*gemm.packed_b) : to_right_matrix(gemm.b),
          .bias = gemm.bias,
          .activation = gemm.activation,
          .result = gemm.result,
          .out = gemm.out,
          .out_stride = gemm.out_stride};
}

/// The size of a product that changes from batch to batch.
enum class VaryingSize { kRows, kDepth, kNone };

/// Returns the size that is the number of tokens, according to the layouts: the rows if `a` is in rows, otherwise the
/// depth. The depth is returned only if it can be cut into parts: for `b` in rows and float results without bias and
/// activation, because partial sums in bf16 would be rounded.
template <typename T, typename Out>
VaryingSize find_varying_size(const GemmSlice<T, Out>& slice) {
  if (slice.a.layout == MatrixLayout::kRows) return VaryingSize::kRows;
  const bool is_plain_sum =
      std::is_same_v<Out, float> && slice.bias == nullptr && slice.activation == GemmActivation::kNone;
  return slice.b.layout == onednn::RightLayout::kRows && is_plain_sum ? VaryingSize::kDepth : VaryingSize::kNone;
}

/// Runs a product with oneDNN on all threads: cuts the result into tiles, each computed by one thread. Cuts the varying
/// size into blocks of few different sizes, so that little is compiled. The tiles, and so the bits of the result, do
/// not depend on the number of threads.
template <typename T, typename Out>
void run_in_blocks(const GemmSlice<T, Out>& slice);

/// Casts blocks of rows or of the depth to float, and multiplies each with oneDNN.
template <typename Out>
void gemm_in_floats(const Gemm<BFloat16, Out>& product);

/// Returns whether sum_outer_products() accepts a product and is the fastest implementation: `a` must be stored column
/// by column and `b` row by row, as in the gradient of a weight, where the depth is the number of tokens.
template <typename T>
bool can_sum_outer_products(const Gemm<T, float>& product);

/// Sums, with AVX-512, the outer products of column k of `a` and row k of `b` over all k. The sum runs over k in
/// ascending order on any number of threads.
template <typename T>
void sum_outer_products(const Gemm<T, float>& product);

/// Sets the result of has_native_bf16() while the object lives, so that tests can run both implementations. Must not be
/// created or destroyed while kernels run. `is_native` may be true only if onednn::has_bf16().
class ForcedNativeBf16 {
 public:
  explicit ForcedNativeBf16(bool is_native);
  ~ForcedNativeBf16();
  ForcedNativeBf16(const ForcedNativeBf16&) = delete;
  ForcedNativeBf16& operator=(const ForcedNativeBf16&) = delete;

 private:
  std::optional<bool> previous_;
};

}  // namespace cpu
}  // namespace edgewise::kernels
