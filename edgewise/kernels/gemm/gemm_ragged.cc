// SPDX-License-Identifier: Apache-2.0
// Compiling a product takes longer than a small one runs, and the number of tokens is new in each batch. Most of them
// are therefore taken as a multiple of a large block; the few that are left are copied to where zeros follow them, up
// to a multiple of a small step. Fewer rows than a step are taken as they are: there are few such numbers, and the
// search for one sentence's output runs on them.
#include <algorithm>
#include <cstring>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/simd/aligned_bytes.h"
#include "edgewise/kernels/gemm/gemm_product.h"

namespace edgewise::kernels::cpu {
namespace {

constexpr std::int64_t kBlock = 256;
constexpr std::int64_t kStep = 16;

std::int64_t round_down(std::int64_t size, std::int64_t step) { return size / step * step; }
std::int64_t round_up(std::int64_t size, std::int64_t step) { return round_down(size + step - 1, step); }

template <typename T, typename Out>
void run_compiled(const Product<T, Out>& p) {
  onednn::run({.type = onednn::kElementType<T>,
               .out_type = onednn::kElementType<Out>,
               .a_layout = p.a.layout,
               .b_layout = p.b.layout,
               .activation = p.activation,
               .result = p.result,
               .has_bias = p.bias != nullptr,
               .num_threads = num_threads(),
               .rows = p.rows,
               .columns = p.columns,
               .depth = p.depth,
               .a_stride = p.a.stride,
               .b_stride = p.b.stride,
               .out_stride = p.out_stride},
              {p.a.data, p.b.data, p.bias, p.out});
}

template <typename T>
void copy_rows(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride, std::int64_t rows,
               std::int64_t width) {
  for (std::int64_t row = 0; row < rows; ++row) {
    std::memcpy(to + row * to_stride, from + row * from_stride, static_cast<std::size_t>(width) * sizeof(T));
  }
}

// The same rows, as far apart, followed by zeros. Not closer together, though that would save memory: the order in
// which oneDNN sums depends on how far apart rows are.
template <typename T>
T* padded_copy(const T* from, std::int64_t stride, std::int64_t rows, std::int64_t width, std::int64_t padded_rows,
               AlignedBytes& room) {
  T* to = room.elements<T>(padded_rows * stride);
  copy_rows(from, stride, to, stride, rows, width);
  std::memset(static_cast<void*>(to + rows * stride), 0,
              static_cast<std::size_t>((padded_rows - rows) * stride) * sizeof(T));
  return to;
}

// A single row as two: oneDNN takes it for the same product whether it comes from a matrix in rows or in columns, so
// that the order of its sums would depend on which came first.
std::int64_t compiled_rows(std::int64_t rows) {
  return rows < kStep ? std::max<std::int64_t>(rows, 2) : round_up(rows, kStep);
}

template <typename T, typename Out>
void run_last_rows(const Product<T, Out>& p) {
  Product<T, Out> padded = p;
  padded.rows = compiled_rows(p.rows);
  if (padded.rows == p.rows) return run_compiled(p);
  if (padded.rows <= p.rows + p.spare_rows) return run_compiled(padded);
  static thread_local AlignedBytes a_room, out_room;
  padded.a.data = padded_copy(p.a.data, p.a.stride, p.rows, p.depth, padded.rows, a_room);
  padded.out =
      padded_copy(p.out, p.out_stride, p.result == GemmResult::kAdd ? p.rows : 0, p.columns, padded.rows, out_room);
  run_compiled(padded);
  copy_rows(padded.out, padded.out_stride, p.out, p.out_stride, p.rows, p.columns);
}

template <typename T, typename Out>
void run_last_depth(const Product<T, Out>& p) {
  if (p.depth % kStep == 0) return run_compiled(p);
  static thread_local AlignedBytes a_room, b_room;
  Product<T, Out> padded = p;
  padded.depth = round_up(p.depth, kStep);
  padded.a.data = padded_copy(p.a.data, p.a.stride, p.depth, p.rows, padded.depth, a_room);
  padded.b.data = padded_copy(p.b.data, p.b.stride, p.depth, p.columns, padded.depth, b_room);
  run_compiled(padded);
}

// A packed product whose rows end up apart. They are made side by side first: of the other kind oneDNN knows only the
// definition, which is a hundred times slower.
template <typename T, typename Out>
void run_side_by_side(const Product<T, Out>& p) {
  static thread_local AlignedBytes room;
  for (std::int64_t first = 0; first < p.rows; first += kBlock) {
    const Product<T, Out> to = p.rows_from(first, std::min(kBlock, p.rows - first));
    Product<T, Out> block = to;
    block.out = room.elements<Out>((kBlock + kStep) * p.columns);
    block.out_stride = p.columns;
    block.spare_rows = 0;
    if (p.result == GemmResult::kAdd) copy_rows(to.out, to.out_stride, block.out, p.columns, to.rows, p.columns);
    run_ragged(block);
    copy_rows(block.out, p.columns, to.out, to.out_stride, to.rows, p.columns);
  }
}

}  // namespace

template <typename T, typename Out>
void run_ragged(const Product<T, Out>& p) {
  const Ragged ragged = ragged_size(p);
  if (ragged == Ragged::kNothing) return run_compiled(p);
  const bool is_packed = p.b.layout == onednn::RightLayout::kPacked;
  if (is_packed && ragged == Ragged::kRows && p.out_stride != p.columns) return run_side_by_side(p);

  const std::int64_t size = ragged == Ragged::kRows ? p.rows : p.depth;
  const std::int64_t main = round_down(size, kBlock);
  if (ragged == Ragged::kRows) {
    if (main > 0) run_compiled(p.rows_from(0, main));
    if (main < size) run_last_rows(p.rows_from(main, size - main));
  } else {
    if (main > 0) run_compiled(p.depth_from(0, main));
    if (main < size) run_last_depth(p.depth_from(main, size - main));
  }
}

template void run_ragged(const Product<float, float>&);
template void run_ragged(const Product<BFloat16, BFloat16>&);
template void run_ragged(const Product<BFloat16, float>&);
template void run_ragged(const Product<std::int8_t, std::int32_t>&);

}  // namespace edgewise::kernels::cpu
