// SPDX-License-Identifier: Apache-2.0
// Both sides are read in the order of memory, a block of the depth at a time, and laid out for panel_block.h as they
// come: there is no transposed copy, and no size needs code of its own.
#include "edgewise/kernels/gemm/outer_products.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/simd/aligned_bytes.h"
#include "edgewise/kernels/gemm/panel_block.h"
#include "edgewise/kernels/gemm/panels.h"

namespace edgewise::kernels::cpu {

#ifdef __x86_64__

namespace {

constexpr std::int64_t kStepsOfBlock = 128;  // so that a panel, 32 KB, stays in the first cache
constexpr std::int64_t kRowsOfStrip = std::int64_t{16} * kPanelRows;
constexpr std::int64_t kFewRowsOfTile = 2 * kRowsOfStrip;
constexpr std::int64_t kRowsOfTile = 10 * kRowsOfStrip;
constexpr std::int64_t kFewColumnsOfTile = 4 * kPanelColumns;
constexpr std::int64_t kColumnsOfTile = 16 * kPanelColumns;

std::int64_t rounded_up(std::int64_t size, std::int64_t step) { return (size + step - 1) / step * step; }

constexpr __mmask16 kAllLanes = 0xFFFF;

template <typename T>
bool are_multiplied_as_floats() {
  return std::is_same_v<T, float> || !bf16_is_native();
}

/// A block of either side, in strips of `width` columns: [strips, steps, width, a step], the last narrower by whole
/// vectors, zeros where there is no more of the side.
class Strips {
 public:
  Strips(AlignedBytes& room, std::int64_t count, std::int64_t width)
      : bytes_(room.elements<char>(rounded_up(count, width) * kStepsOfBlock * kStepBytes)),
        count_(count),
        width_(width) {}

  std::int64_t count() const { return count_; }
  std::int64_t width() const { return width_; }
  std::int64_t columns_of(std::int64_t first) const { return std::min(width_, count_ - first); }
  /// From a step to the next, in the strip that begins with column `first`.
  std::int64_t step_bytes(std::int64_t first) const { return rounded_up(columns_of(first), kPanelLanes) * kStepBytes; }
  char* strip(std::int64_t first) const { return bytes_ + first * kStepsOfBlock * kStepBytes; }

 private:
  char* bytes_;
  std::int64_t count_;
  std::int64_t width_;
};

EDGEWISE_AVX512 __m512i load_as_floats(const float* from, __mmask16 lanes) {
  return _mm512_castps_si512(_mm512_maskz_loadu_ps(lanes, from));
}

// Each in the lower half of a lane. Masks all the way, since g++ 12 warns of what its headers do without them.
EDGEWISE_AVX512 __m512i load_in_pairs(const BFloat16* from, __mmask16 lanes) {
  return _mm512_maskz_cvtepu16_epi32(lanes, _mm256_maskz_loadu_epi16(lanes, from));
}

EDGEWISE_AVX512 __m512i load_as_floats(const BFloat16* from, __mmask16 lanes) {
  return _mm512_maskz_slli_epi32(lanes, load_in_pairs(from, lanes), 16);
}

/// Numbers of a row from `n` on as floats, or of two rows of bf16 element by element, where there is a next one.
template <typename Multiplied, typename T>
EDGEWISE_AVX512 inline void lay_out_vector(const T* row, const T* next_row, std::int64_t n, __mmask16 lanes, char* to) {
  __m512i values;
  if constexpr (std::is_same_v<Multiplied, float>) {
    values = load_as_floats(row + n, lanes);
  } else {
    values = load_in_pairs(row + n, lanes);
    if (next_row != nullptr) values = _mm512_or_si512(values, load_as_floats(next_row + n, lanes));
  }
  _mm512_store_si512(to + n * kStepBytes, values);
}

template <typename Multiplied, typename T>
EDGEWISE_AVX512 void lay_out(const T* from, std::int64_t stride, std::int64_t depth, const Strips& to) {
  for (std::int64_t first = 0; first < to.count(); first += to.width()) {
    const std::int64_t columns = to.columns_of(first);
    const std::int64_t whole = columns / kPanelLanes * kPanelLanes;
    char* step = to.strip(first);
    for (std::int64_t k = 0; k < depth; k += kOfStep<Multiplied>) {
      const T* row = from + k * stride + first;
      const T* next_row = k + 1 < depth ? row + stride : nullptr;
      for (std::int64_t n = 0; n < whole; n += kPanelLanes)
        lay_out_vector<Multiplied>(row, next_row, n, kAllLanes, step);
      if (whole < columns) lay_out_vector<Multiplied>(row, next_row, whole, lanes_of(columns - whole), step);
      step += to.step_bytes(first);
    }
  }
}

/// Rows of a matrix, or of some columns of it.
struct Region {
  const void* first;
  std::int64_t rows;
  std::int64_t stride;  // bytes
  std::int64_t width;   // bytes
};

template <typename T>
Region region(const T* first, std::int64_t rows, std::int64_t stride, std::int64_t columns) {
  constexpr std::int64_t kBytes{sizeof(T)};
  return {first, rows, stride * kBytes, columns * kBytes};
}

/// What is needed next comes nearer while a block is multiplied: with each group of rows 64 bytes of as many rows of a
/// region as a block has steps.
class Ahead {
 public:
  explicit Ahead(std::array<Region, 2> regions) : regions_(regions) {}

  struct Walk {
    const char* from;
    std::int64_t step;
  };

  Walk next_or(const void* otherwise) {
    if (region_ == regions_.size()) return {static_cast<const char*>(otherwise), 64};
    const Region& region = regions_[region_];
    const Walk walk = {static_cast<const char*>(region.first) + row_ * region.stride + byte_, region.stride};
    row_ += kStepsOfBlock;
    if (row_ >= region.rows) {
      row_ = 0;
      byte_ += 64;
    }
    if (byte_ >= region.width) {
      byte_ = 0;
      ++region_;
    }
    return walk;
  }

 private:
  std::array<Region, 2> regions_;
  std::size_t region_ = 0;
  std::int64_t row_ = 0;
  std::int64_t byte_ = 0;
};

/// Adds a block of the depth to the sums of a tile: [panels, rows, 64].
template <typename Multiplied>
void add_block(const Strips& left, const Strips& right, std::int64_t steps, bool is_first, Ahead ahead,
               std::int32_t* sums) {
  alignas(64) static constexpr std::int32_t kZeros[kPanelColumns] = {};
  for (std::int64_t n = 0; n < right.count(); n += kPanelColumns) {
    const std::int64_t vectors = right.step_bytes(n) / kPanelVectorBytes;
    for (std::int64_t first = 0; first < left.count(); first += kRowsOfStrip) {
      for_row_groups(left.columns_of(first), [&](std::int64_t row, std::int64_t count) {
        std::int32_t* of_rows = sums + n * left.count() + (first + row) * kPanelColumns;
        const Ahead::Walk walk = ahead.next_or(of_rows + count * kPanelColumns);
        block_for<Multiplied>(count, vectors)({.a = left.strip(first) + row * kStepBytes,
                                               .a_row = kStepBytes,
                                               .a_step = left.step_bytes(first),
                                               .panel = right.strip(n),
                                               .ahead = walk.from,
                                               .ahead_step = walk.step,
                                               .begins = is_first ? kZeros : of_rows,
                                               .begins_row = is_first ? 0 : kPanelColumns,
                                               .steps = steps,
                                               .sums = of_rows});
      });
    }
  }
}

struct Tile {
  std::int64_t first_row, rows;
  std::int64_t first_column, columns;
};

template <typename T>
EDGEWISE_AVX512 void write_tile(const Gemm<T, float>& p, const Tile& tile, const std::int32_t* sums) {
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    float* out = p.out + (tile.first_row + row) * p.out_stride + tile.first_column;
    for (std::int64_t n = 0; n < tile.columns; n += kPanelLanes) {
      const __mmask16 lanes = lanes_of(tile.columns - n);
      const std::int64_t panel = n / kPanelColumns * kPanelColumns;
      __m512 values =
          _mm512_castsi512_ps(_mm512_load_si512(sums + panel * tile.rows + row * kPanelColumns + (n - panel)));
      if (p.result == GemmResult::kAdd) values = _mm512_add_ps(values, _mm512_maskz_loadu_ps(lanes, out + n));
      _mm512_mask_storeu_ps(out + n, lanes, values);
    }
  }
}

template <typename Multiplied, typename T>
void sum_tile(const Gemm<T, float>& p, const Tile& tile, const Tile& next) {
  constexpr std::int64_t kDepth = kStepsOfBlock * kOfStep<Multiplied>;
  static thread_local AlignedBytes left_room, right_room, sums_room;
  const Strips left(left_room, tile.rows, kRowsOfStrip);
  const Strips right(right_room, tile.columns, kPanelColumns);
  auto* sums = sums_room.elements<std::int32_t>(tile.rows * rounded_up(tile.columns, kPanelColumns));
  for (std::int64_t k = 0; k < p.depth; k += kDepth) {
    const std::int64_t depth = std::min(kDepth, p.depth - k);
    const T* a = p.a.data + k * p.a.stride;
    const T* b = p.b.data + k * p.b.stride;
    lay_out<Multiplied>(a + tile.first_row, p.a.stride, depth, left);
    lay_out<Multiplied>(b + tile.first_column, p.b.stride, depth, right);
    const std::int64_t next_depth = std::min(kDepth, p.depth - k - depth);
    const float* out = p.out + tile.first_row * p.out_stride + tile.first_column;
    const Ahead ahead(
        next_depth > 0
            ? std::array{region(a + depth * p.a.stride + tile.first_row, next_depth, p.a.stride, tile.rows),
                         region(b + depth * p.b.stride + tile.first_column, next_depth, p.b.stride, tile.columns)}
            : std::array{region(out, tile.rows, p.out_stride, tile.columns),
                         region(p.a.data + next.first_row, std::min(kDepth, p.depth), p.a.stride, next.rows)});
    add_block<Multiplied>(left, right, (depth + kOfStep<Multiplied> - 1) / kOfStep<Multiplied>, k == 0, ahead, sums);
  }
  write_tile(p, tile, sums);
}

/// A thread's part of the result in tiles, whose sums stay in the second cache unless rows and columns are many: then
/// it pays to read both sides as seldom as can be.
template <typename T>
void sum_part(const Gemm<T, float>& p, const Tile& part) {
  const std::int64_t most_rows = std::clamp(part.columns / kRowsOfStrip * kRowsOfStrip, kFewRowsOfTile, kRowsOfTile);
  const std::int64_t most_columns =
      std::clamp(part.rows / kPanelColumns * kPanelColumns, kFewColumnsOfTile, kColumnsOfTile);
  const auto tile_at = [&](std::int64_t row, std::int64_t column) {
    return Tile{part.first_row + row, std::min(most_rows, part.rows - row), part.first_column + column,
                std::min(most_columns, part.columns - column)};
  };
  for (std::int64_t column = 0; column < part.columns; column += most_columns) {
    for (std::int64_t row = 0; row < part.rows; row += most_rows) {
      const Tile tile = tile_at(row, column);
      const Tile next = row + most_rows < part.rows ? tile_at(row + most_rows, column) : tile;
      if (are_multiplied_as_floats<T>()) {
        sum_tile<float>(p, tile, next);
      } else if constexpr (std::is_same_v<T, BFloat16>) {
        sum_tile<BFloat16>(p, tile, next);
      }
    }
  }
}

/// In how many parts rows and columns are cut, so that the threads lay out as little as they can.
struct Grid {
  std::int64_t of_rows, of_columns;
};

Grid grid_for(std::int64_t rows, std::int64_t columns, std::int64_t parts) {
  Grid best = {1, parts};
  const auto laid_out = [&](const Grid& grid) { return rows / grid.of_rows + columns / grid.of_columns; };
  for (std::int64_t of_rows = 2; of_rows <= parts; ++of_rows) {
    const Grid grid = {of_rows, parts / of_rows};
    if (parts % of_rows == 0 && laid_out(grid) < laid_out(best)) best = grid;
  }
  return best;
}

}  // namespace

template <typename T>
bool is_fast_sum_of_outer_products(const Gemm<T, float>& p) {
  const bool is_plain = p.packed_b == nullptr && p.bias == nullptr && p.activation == GemmActivation::kNone;
  const bool has_layout = p.a.layout == MatrixLayout::kColumns && p.b.layout == MatrixLayout::kRows;
  const bool is_fast = are_multiplied_as_floats<T>() ? panels_are_fast<float>() : panels_are_fast<BFloat16>();
  return is_plain && has_layout && is_fast;
}

template <typename T>
void sum_outer_products(const Gemm<T, float>& p) {
  constexpr std::int64_t kGrain = 1 << 18;  // products that a thread is worth waking for
  const std::int64_t parts = std::clamp<std::int64_t>(p.rows * p.columns * p.depth / kGrain, 1, num_threads());
  const std::int64_t panels = num_panels(p.columns);
  const Grid grid = grid_for(p.rows, p.columns, parts);
  parallel_for(grid.of_rows * grid.of_columns, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = i / grid.of_columns;
      const std::int64_t column = i % grid.of_columns;
      const std::int64_t first_row = p.rows * row / grid.of_rows;
      const std::int64_t first_column = panels * column / grid.of_columns * kPanelColumns;
      const std::int64_t end_column = std::min(p.columns, panels * (column + 1) / grid.of_columns * kPanelColumns);
      sum_part(p, {first_row, p.rows * (row + 1) / grid.of_rows - first_row, first_column, end_column - first_column});
    }
  });
}

#else

template <typename T>
bool is_fast_sum_of_outer_products(const Gemm<T, float>& /*p*/) {
  return false;
}

template <typename T>
void sum_outer_products(const Gemm<T, float>& /*p*/) {}

#endif

template bool is_fast_sum_of_outer_products(const Gemm<float, float>&);
template bool is_fast_sum_of_outer_products(const Gemm<BFloat16, float>&);
template void sum_outer_products(const Gemm<float, float>&);
template void sum_outer_products(const Gemm<BFloat16, float>&);

}  // namespace edgewise::kernels::cpu
