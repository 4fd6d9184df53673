// SPDX-License-Identifier: Apache-2.0
// Multiplies bf16 matrices with float instructions: casts a block of them to float, multiplies the block while it is in
// the cache, and casts the result back.
#include <algorithm>
#include <type_traits>

#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/kernels/gemm/gemm_parts.h"
#include "edgewise/kernels/simd/scratch.h"

namespace edgewise::kernels::cpu {
namespace {

/// Returns how many rows of `width` bf16 elements fit into half a megabyte, rounded down to a multiple of the block
/// size of run_in_blocks(), but at least one such block.
std::int64_t choose_block_rows(std::int64_t width) {
  constexpr std::int64_t kRowStep = 256;
  constexpr std::int64_t kFloats = 1 << 18;
  return std::max<std::int64_t>(1, kFloats / (width * kRowStep)) * kRowStep;
}

template <typename From, typename To>
void cast_rows(const From* from, std::int64_t from_stride, To* to, std::int64_t to_stride, std::int64_t rows,
               std::int64_t width) {
  if (from_stride == width && to_stride == width) return cast(rows * width, from, to);
  for (std::int64_t row = 0; row < rows; ++row) cast(width, from + row * from_stride, to + row * to_stride);
}

Matrix<float> cast_to_floats(const Matrix<BFloat16>& matrix, std::int64_t stored_rows, std::int64_t width,
                             AlignedBuffer& buffer) {
  float* to = buffer.elements<float>(stored_rows * width);
  cast_rows(matrix.data, matrix.stride, to, width, stored_rows, width);
  return {to, width, matrix.layout};
}

template <typename Out>
RightMatrix<float> cast_right_matrix(const Gemm<BFloat16, Out>& p, AlignedBuffer& buffer) {
  if (p.packed_b != nullptr) return to_right_matrix<float>(*p.packed_b);
  const bool is_in_rows = p.b.layout == MatrixLayout::kRows;
  return to_right_matrix(
      cast_to_floats(p.b, is_in_rows ? p.depth : p.columns, is_in_rows ? p.columns : p.depth, buffer));
}

/// The result of a product as a float matrix: `out` itself if Out is float, otherwise a matrix in `buffer`, which
/// write_back() casts to `out`.
template <typename Out>
class FloatResult {
 public:
  FloatResult(const Gemm<BFloat16, Out>& p, AlignedBuffer& buffer) : p_(p) {
    if constexpr (kIsInPlace) {
      floats_ = p.out;
      stride_ = p.out_stride;
    } else {
      floats_ = buffer.elements<float>(p.rows * p.columns);
      stride_ = p.columns;
      if (p.result == GemmResult::kAdd) cast_rows(p.out, p.out_stride, floats_, stride_, p.rows, p.columns);
    }
  }

  float* floats() const { return floats_; }
  std::int64_t stride() const { return stride_; }

  void write_back() const {
    if constexpr (!kIsInPlace) cast_rows(floats_, stride_, p_.out, p_.out_stride, p_.rows, p_.columns);
  }

 private:
  static constexpr bool kIsInPlace = std::is_same_v<Out, float>;

  const Gemm<BFloat16, Out>& p_;
  float* floats_;
  std::int64_t stride_;
};

template <typename Out>
GemmSlice<float, float> make_float_slice(const Gemm<BFloat16, Out>& p, const Matrix<float>& a,
                                         const RightMatrix<float>& b, const FloatResult<Out>& result) {
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

/// Runs a product whose left matrix is stored in rows, one block of rows at a time.
template <typename Out>
void run_by_rows(const Gemm<BFloat16, Out>& p) {
  static thread_local AlignedBuffer a_buffer, b_buffer, out_buffer;
  const RightMatrix<float> b = cast_right_matrix(p, b_buffer);
  const std::int64_t block_size = choose_block_rows(p.depth + p.columns);
  for (std::int64_t first = 0; first < p.rows; first += block_size) {
    Gemm<BFloat16, Out> block = p;
    block.rows = std::min(block_size, p.rows - first);
    block.a.data += first * p.a.stride;
    block.out += first * p.out_stride;
    const FloatResult<Out> result(block, out_buffer);
    run_in_blocks(make_float_slice(block, cast_to_floats(block.a, block.rows, p.depth, a_buffer), b, result));
    result.write_back();
  }
}

/// Runs a product whose left matrix is stored in columns. If the depth can be cut into parts (find_varying_size()),
/// runs one block of the depth at a time, and each block adds to the result.
template <typename Out>
void run_by_depth(const Gemm<BFloat16, Out>& p) {
  static thread_local AlignedBuffer a_buffer, b_buffer, out_buffer;
  const FloatResult<Out> result(p, out_buffer);
  if (find_varying_size(slice_all(p)) == VaryingSize::kNone) {
    const RightMatrix<float> b = cast_right_matrix(p, b_buffer);
    run_in_blocks(make_float_slice(p, cast_to_floats(p.a, p.depth, p.rows, a_buffer), b, result));
    return result.write_back();
  }

  const std::int64_t block_size = choose_block_rows(p.rows + p.columns);
  for (std::int64_t first = 0; first < p.depth; first += block_size) {
    Gemm<BFloat16, Out> block = p;
    block.depth = std::min(block_size, p.depth - first);
    block.a.data += first * p.a.stride;
    block.b.data += first * p.b.stride;
    if (first > 0) block.result = GemmResult::kAdd;
    const RightMatrix<float> b = cast_right_matrix(block, b_buffer);
    run_in_blocks(make_float_slice(block, cast_to_floats(block.a, block.depth, p.rows, a_buffer), b, result));
  }
  result.write_back();
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
