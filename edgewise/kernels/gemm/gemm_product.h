// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "edgewise/kernels/gemm/gemm_onednn.h"
#include "edgewise/kernels/gemm/packed_matrix.h"
#include "edgewise/kernels/gemm/gemm.h"

// Products, and parts of them, whose right side lies in any layout.
namespace edgewise::kernels::cpu {

template <typename T>
struct RightSide {
  const T* data;
  std::int64_t stride;
  onednn::RightLayout layout;
};

template <typename T, typename Out>
struct Product {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
  Matrix<T> a;
  RightSide<T> b;
  const float* bias;
  GemmActivation activation;
  GemmResult result;
  Out* out;
  std::int64_t out_stride;
  std::int64_t spare_rows = 0;

  Product rows_from(std::int64_t first, std::int64_t count) const {
    Product part = *this;
    part.rows = count;
    part.a.data += first * a.stride;
    part.out += first * out_stride;
    return part;
  }

  /// What the terms from `first` on add to each sum; the first ones write, the others add to them.
  Product depth_from(std::int64_t first, std::int64_t count) const {
    Product part = *this;
    part.depth = count;
    part.a.data += first * a.stride;
    part.b.data += first * b.stride;
    if (first > 0) part.result = GemmResult::kAdd;
    return part;
  }
};

template <typename T>
RightSide<T> right_side(const Matrix<T>& b) {
  return {b.data, b.stride,
          b.layout == MatrixLayout::kRows ? onednn::RightLayout::kRows : onednn::RightLayout::kColumns};
}

template <typename T, typename PackedType>
RightSide<T> right_side(const PackedMatrix<PackedType>& packed) {
  const auto& content = packed.content();
  return {static_cast<const T*>(content.bytes.data()), content.columns, content.layout};
}

template <typename T, typename Out>
Product<T, Out> product_of(const Gemm<T, Out>& gemm) {
  return {.rows = gemm.rows,
          .columns = gemm.columns,
          .depth = gemm.depth,
          .a = gemm.a,
          .b = gemm.packed_b != nullptr ? right_side<T>(*gemm.packed_b) : right_side(gemm.b),
          .bias = gemm.bias,
          .activation = gemm.activation,
          .result = gemm.result,
          .out = gemm.out,
          .out_stride = gemm.out_stride,
          .spare_rows = gemm.spare_rows};
}

/// Which size changes from batch to batch, going by where the rows of activations can lie. Sums of bf16 are not cut
/// into parts, whose sums would be rounded.
enum class Ragged { kRows, kDepth, kNothing };

template <typename T, typename Out>
Ragged ragged_size(const Product<T, Out>& product) {
  if (product.a.layout == MatrixLayout::kRows) return Ragged::kRows;
  const bool is_plain_sum =
      std::is_same_v<Out, float> && product.bias == nullptr && product.activation == GemmActivation::kNone;
  return product.b.layout == onednn::RightLayout::kRows && is_plain_sum ? Ragged::kDepth : Ragged::kNothing;
}

/// Runs a product whose sizes may be new each time, from compiled ones of few sizes.
template <typename T, typename Out>
void run_ragged(const Product<T, Out>& product);

}  // namespace edgewise::kernels::cpu
