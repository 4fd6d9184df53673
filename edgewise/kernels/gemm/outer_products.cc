// SPDX-License-Identifier: Apache-2.0
// Computes out[m, n] = sum over k of a[m, k] b[k, n] for `a` in columns and `b` in rows: their memory is [K, M] and
// [K, N], and each k adds the outer product of two rows of memory. The loops, from the outside in:
//
//   sum_outer_products()   parts of the result, one or more per thread
//   sum_part()             tiles of a part, whose sums stay in the second-level cache
//   sum_tile()             blocks of the depth, which are packed for both sides and multiplied
//   add_block()            panels of 64 columns of b, strips of 96 rows of a, groups of up to 6 rows
//   multiply_block()       steps of the depth (micro_kernels.h)
//
// Packing reads both sides in the order of memory, so that nothing is transposed, and pads with zeros, so that all
// sizes run through the same code.
#include <algorithm>
#include <array>
#include <type_traits>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/gemm/gemm_onednn.h"
#include "edgewise/kernels/gemm/gemm_parts.h"
#include "edgewise/kernels/gemm/micro_kernels.h"
#include "edgewise/kernels/simd/scratch.h"

namespace edgewise::kernels::cpu {

#ifdef __x86_64__

namespace {

constexpr std::int64_t kBlockSteps = 128;  // a panel of a block is 32 KB and stays in the first-level cache
constexpr std::int64_t kStripRows = std::int64_t{16} * kPanelRows;
constexpr std::int64_t kMinTileRows = 2 * kStripRows;
constexpr std::int64_t kMaxTileRows = 10 * kStripRows;
constexpr std::int64_t kMinTileColumns = 4 * kPanelColumns;
constexpr std::int64_t kMaxTileColumns = 16 * kPanelColumns;

std::int64_t round_up(std::int64_t size, std::int64_t step) { return (size + step - 1) / step * step; }

constexpr __mmask16 kAllLanes = 0xFFFF;

template <typename T>
bool uses_float_products() {
  return std::is_same_v<T, float> || !has_native_bf16();
}

/// One side of a block: `count` columns in memory (columns of b, rows of a), packed in strips of `width` columns,
/// [strips, steps, width, kStepBytes]. The last strip has only as many vectors of 16 columns as it needs, padded with
/// zeros. The argument `first` is the first column of a strip.
class PackedStrips {
 public:
  PackedStrips(AlignedBuffer& buffer, std::int64_t count, std::int64_t width)
      : bytes_(buffer.elements<char>(round_up(count, width) * kBlockSteps * kStepBytes)),
        count_(count),
        width_(width) {}

  std::int64_t count() const { return count_; }
  std::int64_t width() const { return width_; }
  std::int64_t columns_of(std::int64_t first) const { return std::min(width_, count_ - first); }
  /// Returns the distance of the steps of a strip in bytes.
  std::int64_t step_stride(std::int64_t first) const { return round_up(columns_of(first), kPanelLanes) * kStepBytes; }
  char* strip(std::int64_t first) const { return bytes_ + first * kBlockSteps * kStepBytes; }

 private:
  char* bytes_;
  std::int64_t count_;
  std::int64_t width_;
};

EDGEWISE_AVX512 __m512i load_as_floats(const float* from, __mmask16 lanes) {
  return _mm512_castps_si512(_mm512_maskz_loadu_ps(lanes, from));
}

/// Loads 16 bf16, each into the lower half of a lane. Uses masked intrinsics, because g++ 12 warns about unmasked ones.
EDGEWISE_AVX512 __m512i load_lower_halves(const BFloat16* from, __mmask16 lanes) {
  return _mm512_maskz_cvtepu16_epi32(lanes, _mm256_maskz_loadu_epi16(lanes, from));
}

EDGEWISE_AVX512 __m512i load_as_floats(const BFloat16* from, __mmask16 lanes) {
  return _mm512_maskz_slli_epi32(lanes, load_lower_halves(from, lanes), 16);
}

/// Packs 16 columns of one step, from column `n` on: floats of one row, or alternating bf16 of two rows. `next_row` is
/// null after the last row.
template <typename Factor, typename T>
EDGEWISE_AVX512 inline void pack_vector(const T* row, const T* next_row, std::int64_t n, __mmask16 lanes, char* to) {
  __m512i values;
  if constexpr (std::is_same_v<Factor, float>) {
    values = load_as_floats(row + n, lanes);
  } else {
    values = load_lower_halves(row + n, lanes);
    if (next_row != nullptr) values = _mm512_or_si512(values, load_as_floats(next_row + n, lanes));
  }
  _mm512_store_si512(to + n * kStepBytes, values);
}

/// Packs `depth` rows for products of factors of type Factor.
template <typename Factor, typename T>
EDGEWISE_AVX512 void pack_strips(const T* from, std::int64_t stride, std::int64_t depth, const PackedStrips& to) {
  for (std::int64_t first = 0; first < to.count(); first += to.width()) {
    const std::int64_t columns = to.columns_of(first);
    const std::int64_t whole = columns / kPanelLanes * kPanelLanes;
    char* step = to.strip(first);
    for (std::int64_t k = 0; k < depth; k += kElementsOfStep<Factor>) {
      const T* row = from + k * stride + first;
      const T* next_row = k + 1 < depth ? row + stride : nullptr;
      for (std::int64_t n = 0; n < whole; n += kPanelLanes) pack_vector<Factor>(row, next_row, n, kAllLanes, step);
      if (whole < columns) pack_vector<Factor>(row, next_row, whole, mask_of_first(columns - whole), step);
      step += to.step_stride(first);
    }
  }
}

/// Memory to prefetch: some columns of some rows of a matrix.
struct PrefetchRegion {
  const void* first;
  std::int64_t rows;
  std::int64_t stride;  // bytes
  std::int64_t width;   // bytes
};

template <typename T>
PrefetchRegion make_region(const T* first, std::int64_t rows, std::int64_t stride, std::int64_t columns) {
  constexpr std::int64_t kBytes{sizeof(T)};
  return {first, rows, stride * kBytes, columns * kBytes};
}

/// Divides two regions into cache lines to prefetch while a block is multiplied: each group of rows prefetches one line
/// of kBlockSteps rows of a region, one row per step.
class Prefetcher {
 public:
  explicit Prefetcher(std::array<PrefetchRegion, 2> regions) : regions_(regions) {}

  struct Lines {
    const char* first;
    std::int64_t stride;  // bytes
  };

  /// Returns the next lines, or after the last region consecutive lines from `fallback` on.
  Lines take_lines(const void* fallback) {
    if (region_ == regions_.size()) return {static_cast<const char*>(fallback), 64};
    const PrefetchRegion& region = regions_[region_];
    const Lines lines = {static_cast<const char*>(region.first) + row_ * region.stride + byte_, region.stride};
    row_ += kBlockSteps;
    if (row_ >= region.rows) {
      row_ = 0;
      byte_ += 64;
    }
    if (byte_ >= region.width) {
      byte_ = 0;
      ++region_;
    }
    return lines;
  }

 private:
  std::array<PrefetchRegion, 2> regions_;
  std::size_t region_ = 0;
  std::int64_t row_ = 0;
  std::int64_t byte_ = 0;
};

/// Adds a block of the depth to the sums of a tile, [panels, rows, 64]. The first block overwrites the sums.
template <typename Factor>
void add_block(const PackedStrips& left, const PackedStrips& right, std::int64_t steps, bool is_first,
               Prefetcher prefetcher, std::int32_t* sums) {
  alignas(64) static constexpr std::int32_t kZeros[kPanelColumns] = {};
  for (std::int64_t n = 0; n < right.count(); n += kPanelColumns) {
    const std::int64_t vectors = right.step_stride(n) / kPanelVectorBytes;
    for (std::int64_t first = 0; first < left.count(); first += kStripRows) {
      for_row_groups(left.columns_of(first), [&](std::int64_t row, std::int64_t count) {
        std::int32_t* group_sums = sums + n * left.count() + (first + row) * kPanelColumns;
        const Prefetcher::Lines lines = prefetcher.take_lines(group_sums + count * kPanelColumns);
        find_micro_kernel<Factor>(count, vectors)({.a = left.strip(first) + row * kStepBytes,
                                                   .a_row_stride = kStepBytes,
                                                   .a_step_stride = left.step_stride(first),
                                                   .panel = right.strip(n),
                                                   .prefetch = lines.first,
                                                   .prefetch_stride = lines.stride,
                                                   .initial_sums = is_first ? kZeros : group_sums,
                                                   .initial_sums_stride = is_first ? 0 : kPanelColumns,
                                                   .steps = steps,
                                                   .sums = group_sums});
      });
    }
  }
}

/// A rectangle of the result.
struct OutputTile {
  std::int64_t first_row, rows;
  std::int64_t first_column, columns;
};

template <typename T>
EDGEWISE_AVX512 void write_tile(const Gemm<T, float>& p, const OutputTile& tile, const std::int32_t* sums) {
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    float* out = p.out + (tile.first_row + row) * p.out_stride + tile.first_column;
    for (std::int64_t n = 0; n < tile.columns; n += kPanelLanes) {
      const __mmask16 lanes = mask_of_first(tile.columns - n);
      const std::int64_t panel = n / kPanelColumns * kPanelColumns;
      __m512 values =
          _mm512_castsi512_ps(_mm512_load_si512(sums + panel * tile.rows + row * kPanelColumns + (n - panel)));
      if (p.result == GemmResult::kAdd) values = _mm512_add_ps(values, _mm512_maskz_loadu_ps(lanes, out + n));
      _mm512_mask_storeu_ps(out + n, lanes, values);
    }
  }
}

template <typename Factor, typename T>
void sum_tile(const Gemm<T, float>& p, const OutputTile& tile, const OutputTile& next) {
  constexpr std::int64_t kBlockDepth = kBlockSteps * kElementsOfStep<Factor>;
  static thread_local AlignedBuffer left_buffer, right_buffer, sums_buffer;
  const PackedStrips left(left_buffer, tile.rows, kStripRows);
  const PackedStrips right(right_buffer, tile.columns, kPanelColumns);
  auto* sums = sums_buffer.elements<std::int32_t>(tile.rows * round_up(tile.columns, kPanelColumns));
  for (std::int64_t k = 0; k < p.depth; k += kBlockDepth) {
    const std::int64_t depth = std::min(kBlockDepth, p.depth - k);
    const T* a = p.a.data + k * p.a.stride;
    const T* b = p.b.data + k * p.b.stride;
    pack_strips<Factor>(a + tile.first_row, p.a.stride, depth, left);
    pack_strips<Factor>(b + tile.first_column, p.b.stride, depth, right);
    // Prefetches the next block of both sides; after the last block, the result and the next tile's first block of a.
    const std::int64_t next_depth = std::min(kBlockDepth, p.depth - k - depth);
    const float* out = p.out + tile.first_row * p.out_stride + tile.first_column;
    const Prefetcher prefetcher(
        next_depth > 0
            ? std::array{make_region(a + depth * p.a.stride + tile.first_row, next_depth, p.a.stride, tile.rows),
                         make_region(b + depth * p.b.stride + tile.first_column, next_depth, p.b.stride, tile.columns)}
            : std::array{
                  make_region(out, tile.rows, p.out_stride, tile.columns),
                  make_region(p.a.data + next.first_row, std::min(kBlockDepth, p.depth), p.a.stride, next.rows)});
    const std::int64_t steps = (depth + kElementsOfStep<Factor> - 1) / kElementsOfStep<Factor>;
    add_block<Factor>(left, right, steps, k == 0, prefetcher, sums);
  }
  write_tile(p, tile, sums);
}

/// Computes a part of the result, tile by tile. The sums of a tile stay in the second-level cache unless the part has
/// many rows and many columns: then larger tiles are faster, because both sides are read less often.
template <typename T>
void sum_part(const Gemm<T, float>& p, const OutputTile& part) {
  const std::int64_t tile_rows = std::clamp(part.columns / kStripRows * kStripRows, kMinTileRows, kMaxTileRows);
  const std::int64_t tile_columns =
      std::clamp(part.rows / kPanelColumns * kPanelColumns, kMinTileColumns, kMaxTileColumns);
  const auto tile_at = [&](std::int64_t row, std::int64_t column) {
    return OutputTile{part.first_row + row, std::min(tile_rows, part.rows - row), part.first_column + column,
                      std::min(tile_columns, part.columns - column)};
  };
  for (std::int64_t column = 0; column < part.columns; column += tile_columns) {
    for (std::int64_t row = 0; row < part.rows; row += tile_rows) {
      const OutputTile tile = tile_at(row, column);
      const OutputTile next = row + tile_rows < part.rows ? tile_at(row + tile_rows, column) : tile;
      if (uses_float_products<T>()) {
        sum_tile<float>(p, tile, next);
      } else if constexpr (std::is_same_v<T, BFloat16>) {
        sum_tile<BFloat16>(p, tile, next);
      }
    }
  }
}

/// The numbers of parts that the rows and the columns of the result are divided into.
struct PartGrid {
  std::int64_t row_parts, column_parts;
};

/// Returns the grid with the fewest rows and columns to pack per part.
PartGrid choose_grid(std::int64_t rows, std::int64_t columns, std::int64_t parts) {
  PartGrid best = {1, parts};
  const auto packed_size = [&](const PartGrid& grid) { return rows / grid.row_parts + columns / grid.column_parts; };
  for (std::int64_t row_parts = 2; row_parts <= parts; ++row_parts) {
    const PartGrid grid = {row_parts, parts / row_parts};
    if (parts % row_parts == 0 && packed_size(grid) < packed_size(best)) best = grid;
  }
  return best;
}

}  // namespace

template <typename T>
bool can_sum_outer_products(const Gemm<T, float>& p) {
  const bool is_plain = p.packed_b == nullptr && p.bias == nullptr && p.activation == GemmActivation::kNone;
  const bool has_layout = p.a.layout == MatrixLayout::kColumns && p.b.layout == MatrixLayout::kRows;
  // With AMX, oneDNN multiplies bf16 faster.
  const bool is_fast =
      uses_float_products<T>() ? has_micro_kernels<float>() : has_micro_kernels<BFloat16>() && !onednn::has_amx();
  return is_plain && has_layout && is_fast;
}

template <typename T>
void sum_outer_products(const Gemm<T, float>& p) {
  constexpr std::int64_t kGrain = 1 << 18;  // multiplications per part, at least
  const std::int64_t parts = std::clamp<std::int64_t>(p.rows * p.columns * p.depth / kGrain, 1, num_threads());
  const std::int64_t panels = divide_up(p.columns, kPanelColumns);
  const PartGrid grid = choose_grid(p.rows, p.columns, parts);
  parallel_for(grid.row_parts * grid.column_parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = i / grid.column_parts;
      const std::int64_t column = i % grid.column_parts;
      const std::int64_t first_row = p.rows * row / grid.row_parts;
      const std::int64_t first_column = panels * column / grid.column_parts * kPanelColumns;
      const std::int64_t end_column = std::min(p.columns, panels * (column + 1) / grid.column_parts * kPanelColumns);
      sum_part(p,
               {first_row, p.rows * (row + 1) / grid.row_parts - first_row, first_column, end_column - first_column});
    }
  });
}

#else

template <typename T>
bool can_sum_outer_products(const Gemm<T, float>& /*p*/) {
  return false;
}

template <typename T>
void sum_outer_products(const Gemm<T, float>& /*p*/) {}

#endif

template bool can_sum_outer_products(const Gemm<float, float>&);
template bool can_sum_outer_products(const Gemm<BFloat16, float>&);
template void sum_outer_products(const Gemm<float, float>&);
template void sum_outer_products(const Gemm<BFloat16, float>&);

}  // namespace edgewise::kernels::cpu
