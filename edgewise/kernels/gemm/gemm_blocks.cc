// SPDX-License-Identifier: Apache-2.0
// oneDNN compiles code for each shape, which takes longer than a small product runs, and the number of tokens differs
// from batch to batch. Therefore a product is cut. Rows are cut into tiles of few different heights; the last tile is
// padded with zeros to a multiple of kStep. A depth is cut in two: a main part, a multiple of kBlock terms, and the
// rest, padded with zeros to a multiple of kStep. Fewer than kStep rows are not padded, because there are few such
// shapes. oneDNN runs in one thread per tile: its own threads wait for each other in busy loops (SerialOpenMpScope).
#include <algorithm>
#include <cstring>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/gemm/gemm_parts.h"
#include "edgewise/kernels/simd/scratch.h"

namespace edgewise::kernels::cpu {
namespace {

constexpr std::int64_t kBlock = 256;
constexpr std::int64_t kStep = 16;

std::int64_t round_down(std::int64_t size, std::int64_t step) { return size / step * step; }
std::int64_t round_up(std::int64_t size, std::int64_t step) { return round_down(size + step - 1, step); }

template <typename T, typename Out>
void run_compiled(const GemmSlice<T, Out>& p) {
  onednn::run({.type = onednn::kElementType<T>,
               .out_type = onednn::kElementType<Out>,
               .a_layout = p.a.layout,
               .b_layout = p.b.layout,
               .activation = p.activation,
               .result = p.result,
               .has_bias = p.bias != nullptr,
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

/// Copies rows and appends zeros. Keeps the stride, because the order of oneDNN's sums depends on it.
template <typename T>
T* copy_padded(const T* from, std::int64_t stride, std::int64_t rows, std::int64_t width, std::int64_t padded_rows,
               AlignedBuffer& buffer) {
  T* to = buffer.elements<T>(padded_rows * stride);
  copy_rows(from, stride, to, stride, rows, width);
  std::memset(static_cast<void*>(to + rows * stride), 0,
              static_cast<std::size_t>((padded_rows - rows) * stride) * sizeof(T));
  return to;
}

/// Pads a single row to two: for one row oneDNN does not distinguish a matrix in rows from one in columns, so that the
/// order of the sums would depend on which layout was compiled first.
std::int64_t choose_compiled_rows(std::int64_t rows) {
  return rows < kStep ? std::max<std::int64_t>(rows, 2) : round_up(rows, kStep);
}

template <typename T, typename Out>
void run_padded_rows(const GemmSlice<T, Out>& p) {
  GemmSlice<T, Out> padded = p;
  padded.rows = choose_compiled_rows(p.rows);
  if (padded.rows == p.rows) return run_compiled(p);
  static thread_local AlignedBuffer a_buffer, out_buffer;
  padded.a.data = copy_padded(p.a.data, p.a.stride, p.rows, p.depth, padded.rows, a_buffer);
  padded.out =
      copy_padded(p.out, p.out_stride, p.result == GemmResult::kAdd ? p.rows : 0, p.columns, padded.rows, out_buffer);
  run_compiled(padded);
  copy_rows(padded.out, padded.out_stride, p.out, p.out_stride, p.rows, p.columns);
}

template <typename T, typename Out>
GemmSlice<T, Out> pad_depth(const GemmSlice<T, Out>& p, AlignedBuffer& a_buffer, AlignedBuffer& b_buffer) {
  if (p.depth % kStep == 0) return p;
  GemmSlice<T, Out> padded = p;
  padded.depth = round_up(p.depth, kStep);
  padded.a.data = copy_padded(p.a.data, p.a.stride, p.depth, p.rows, padded.depth, a_buffer);
  padded.b.data = copy_padded(p.b.data, p.b.stride, p.depth, p.columns, padded.depth, b_buffer);
  return padded;
}

struct TileSize {
  std::int64_t rows, columns;
};

/// Returns about an eighth of the size, so that several threads have work, but at most `largest`. Other sizes would
/// change the bits of results: on AVX2 the order of oneDNN's sums depends on the number of rows.
std::int64_t choose_tile_size(std::int64_t size, std::int64_t largest) {
  constexpr std::int64_t kTiles = 8;
  return std::clamp<std::int64_t>(round_up(size / kTiles, kStep), 2 * kStep, largest);
}

template <typename T, typename Out>
TileSize choose_tile(const GemmSlice<T, Out>& p) {
  constexpr std::int64_t kMostColumns = 256;
  const bool is_packed = p.b.layout == onednn::RightLayout::kPacked;
  return {choose_tile_size(p.rows, kBlock), is_packed ? p.columns : std::min(p.columns, kMostColumns)};
}

template <typename T, typename Out>
void run_tiles(const GemmSlice<T, Out>& p) {
  const TileSize tile = choose_tile(p);
  const std::int64_t row_tiles = (p.rows + tile.rows - 1) / tile.rows;
  const std::int64_t column_tiles = (p.columns + tile.columns - 1) / tile.columns;
  parallel_for(row_tiles * column_tiles, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = i / column_tiles * tile.rows;
      const std::int64_t column = i % column_tiles * tile.columns;
      const GemmSlice<T, Out> part =
          p.slice_tile(row, std::min(tile.rows, p.rows - row), column, std::min(tile.columns, p.columns - column));
      if (p.a.layout == MatrixLayout::kRows) {
        run_padded_rows(part);
      } else {
        run_compiled(part);
      }
    }
  });
}

/// Runs a product with a packed b and gaps between the result rows through a buffer without gaps: for results with gaps
/// oneDNN has only its reference implementation, which is a hundred times slower.
template <typename T, typename Out>
void run_without_gaps(const GemmSlice<T, Out>& p) {
  static thread_local AlignedBuffer buffer;
  for (std::int64_t first = 0; first < p.rows; first += kBlock) {
    const GemmSlice<T, Out> to = p.slice_rows(first, std::min(kBlock, p.rows - first));
    GemmSlice<T, Out> block = to;
    block.out = buffer.elements<Out>(kBlock * p.columns);
    block.out_stride = p.columns;
    if (p.result == GemmResult::kAdd) copy_rows(to.out, to.out_stride, block.out, p.columns, to.rows, p.columns);
    run_tiles(block);
    copy_rows(block.out, p.columns, to.out, to.out_stride, to.rows, p.columns);
  }
}

template <typename T, typename Out>
void run_depth_in_blocks(const GemmSlice<T, Out>& p) {
  const std::int64_t main_depth = round_down(p.depth, kBlock);
  if (main_depth > 0) run_tiles(p.slice_depth(0, main_depth));
  if (main_depth == p.depth) return;
  const GemmSlice<T, Out> last = p.slice_depth(main_depth, p.depth - main_depth);
  static thread_local AlignedBuffer a_buffer, b_buffer;
  run_tiles(pad_depth(last, a_buffer, b_buffer));
}

}  // namespace

template <typename T, typename Out>
void run_in_blocks(const GemmSlice<T, Out>& p) {
  const VaryingSize varying = find_varying_size(p);
  const bool has_gaps = p.b.layout == onednn::RightLayout::kPacked && p.out_stride != p.columns;
  if (varying == VaryingSize::kDepth) {
    run_depth_in_blocks(p);
  } else if (varying == VaryingSize::kRows && has_gaps) {
    run_without_gaps(p);
  } else {
    run_tiles(p);
  }
}

template void run_in_blocks(const GemmSlice<float, float>&);
template void run_in_blocks(const GemmSlice<BFloat16, BFloat16>&);
template void run_in_blocks(const GemmSlice<BFloat16, float>&);

}  // namespace edgewise::kernels::cpu
