// SPDX-License-Identifier: Apache-2.0
// bf16 products on float's instructions: blocks of rows that stay in the cache are cast, multiplied and cast back.
#include <algorithm>
#include <type_traits>

#include "edgewise/kernels/simd/aligned_bytes.h"
#include "edgewise/kernels/dropout/cast.h"
#include "edgewise/kernels/gemm/gemm_paths.h"
#include "edgewise/kernels/gemm/gemm_product.h"

namespace edgewise::kernels::cpu {
namespace {

// Rows of a block: as many as fill half a megabyte, in steps that run_ragged has compiled products for.
std::int64_t rows_of_block(std::int64_t width) {
  constexpr std::int64_t kStep = 256;
  constexpr std::int64_t kFloats = 1 << 18;
  return std::max<std::int64_t>(1, kFloats / (width * kStep)) * kStep;
}

template <typename From, typename To>
void cast_rows(const From* from, std::int64_t from_stride, To* to, std::int64_t to_stride, std::int64_t rows,
               std::int64_t width) {
  if (from_stride == width && to_stride == width) return cast(rows * width, from, to);
  for (std::int64_t row = 0; row < rows; ++row) cast(width, from + row * from_stride, to + row * to_stride);
}

Matrix<float> in_floats(const Matrix<BFloat16>& matrix, std::int64_t stored_rows, std::int64_t width,
                        AlignedBytes& room) {
  float* to = room.elements<float>(stored_rows * width);
  cast_rows(matrix.data, matrix.stride, to, width, stored_rows, width);
  return {to, width, matrix.layout};
}

template <typename Out>
RightSide<float> right_side_in_floats(const Gemm<BFloat16, Out>& p, AlignedBytes& room) {
  if (p.packed_b != nullptr) return right_side<float>(*p.packed_b);
  const bool is_in_rows = p.b.layout == MatrixLayout::kRows;
  return right_side(in_floats(p.b, is_in_rows ? p.depth : p.columns, is_in_rows ? p.columns : p.depth, room));
}

/// Where a product in floats leaves its result: in its place, or first in `room`.
template <typename Out>
class Result {
 public:
  Result(const Gemm<BFloat16, Out>& p, AlignedBytes& room) : p_(p) {
    if constexpr (kIsInPlace) {
      floats_ = p.out;
      stride_ = p.out_stride;
    } else {
      floats_ = room.elements<float>(p.rows * p.columns);
      stride_ = p.columns;
      if (p.result == GemmResult::kAdd) cast_rows(p.out, p.out_stride, floats_, stride_, p.rows, p.columns);
    }
  }

  float* floats() const { return floats_; }
  std::int64_t stride() const { return stride_; }

  void put_in_place() const {
    if constexpr (!kIsInPlace) cast_rows(floats_, stride_, p_.out, p_.out_stride, p_.rows, p_.columns);
  }

 private:
  static constexpr bool kIsInPlace = std::is_same_v<Out, float>;

  const Gemm<BFloat16, Out>& p_;
  float* floats_;
  std::int64_t stride_;
};

template <typename Out>
Product<float, float> product_in_floats(const Gemm<BFloat16, Out>& p, const Matrix<float>& a, const RightSide<float>& b,
                                        const Result<Out>& result) {
  return {.rows = p.rows,
          .columns = p.columns,
          .depth = p.depth,
          .a = a,
          .b = b,
          .bias = p.bias,
          .activation = p.activation,
          .result = p.result,
          .out = result.floats(),
          .out_stride = result.stride()};
}

// The left side lies in rows: blocks of rows.
template <typename Out>
void run_by_rows(const Gemm<BFloat16, Out>& p) {
  static thread_local AlignedBytes a_room, b_room, out_room;
  const RightSide<float> b = right_side_in_floats(p, b_room);
  const std::int64_t block_size = rows_of_block(p.depth + p.columns);
  for (std::int64_t first = 0; first < p.rows; first += block_size) {
    Gemm<BFloat16, Out> block = p;
    block.rows = std::min(block_size, p.rows - first);
    block.a.data += first * p.a.stride;
    block.out += first * p.out_stride;
    const Result<Out> result(block, out_room);
    run_ragged(product_in_floats(block, in_floats(block.a, block.rows, p.depth, a_room), b, result));
    result.put_in_place();
  }
}

// It lies in columns. If the right side lies in rows, as in a gradient of weights, blocks of the depth.
template <typename Out>
void run_by_depth(const Gemm<BFloat16, Out>& p) {
  static thread_local AlignedBytes a_room, b_room, out_room;
  const Result<Out> result(p, out_room);
  if (ragged_size(product_of(p)) == Ragged::kNothing) {
    const RightSide<float> b = right_side_in_floats(p, b_room);
    run_ragged(product_in_floats(p, in_floats(p.a, p.depth, p.rows, a_room), b, result));
    return result.put_in_place();
  }

  const std::int64_t block_size = rows_of_block(p.rows + p.columns);
  for (std::int64_t first = 0; first < p.depth; first += block_size) {
    Gemm<BFloat16, Out> block = p;
    block.depth = std::min(block_size, p.depth - first);
    block.a.data += first * p.a.stride;
    block.b.data += first * p.b.stride;
    if (first > 0) block.result = GemmResult::kAdd;
    const RightSide<float> b = right_side_in_floats(block, b_room);
    run_ragged(product_in_floats(block, in_floats(block.a, block.depth, p.rows, a_room), b, result));
  }
  result.put_in_place();
}

}  // namespace

template <typename Out>
void gemm_in_floats(const Gemm<BFloat16, Out>& product) {
  if (product.a.layout == MatrixLayout::kRows) {
    run_by_rows(product);
  } else {
    run_by_depth(product);
  }
}

template void gemm_in_floats(const Gemm<BFloat16, BFloat16>&);
template void gemm_in_floats(const Gemm<BFloat16, float>&);

}  // namespace edgewise::kernels::cpu
