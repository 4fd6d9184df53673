// SPDX-License-Identifier: Apache-2.0

// Rows of float or bf16 tensors as matrices of floats that products can read without a look at tails: rows are filled
// up to whole vectors with zeros. Compiled once for each instruction set: include after hwy/foreach_target.h.
#if defined(EDGEWISE_KERNELS_CPU_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef EDGEWISE_KERNELS_CPU_PACK_INL_H_
#undef EDGEWISE_KERNELS_CPU_PACK_INL_H_
#else
#define EDGEWISE_KERNELS_CPU_PACK_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "edgewise/kernels/simd/cast-inl.h"
#include "edgewise/kernels/attention/small_gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {

/// Rows `stride` elements apart, `size` elements each.
template <typename T>
struct Rows {
  T* data;
  std::int64_t count;
  std::int64_t size;
  std::int64_t stride;

  T* row(std::int64_t i) const { return data + i * stride; }
};

/// `to` [rows.count, padded(rows.size)] = factor * rows.
template <typename T>
void pack(const Rows<const T>& rows, float factor, float* to) {
  const auto factors = hn::Set(FloatTag(), factor);
  for (std::int64_t i = 0; i < rows.count; ++i) {
    const T* from = rows.row(i);
    for_lanes(rows.size, [&](std::int64_t k, auto part)
                             HWY_ATTR { hn::Store(hn::Mul(factors, load(part, from + k)), FloatTag(), to + k); });
    to += padded(rows.size);
  }
}

/// Floats in rows `stride` apart that can be read up to whole vectors, with zeros behind the last number.
struct Matrix {
  const float* data;
  std::int64_t stride;
};

/// Rows of a tensor lie far apart and soon fall on the same places in the first cache: from this many on, a copy pays.
inline constexpr std::int64_t kMostRowsInPlace = 32;

/// Rows where they lie if they can be read there, else packed into `room` [rows.count, padded(rows.size)].
template <typename T>
Matrix as_matrix(const Rows<const T>& rows, float* room) {
  if constexpr (std::is_same_v<T, float>) {
    if (rows.size % kLanes == 0 && rows.count <= kMostRowsInPlace) return {rows.data, rows.stride};
  }
  pack(rows, 1.0f, room);
  return {room, padded(rows.size)};
}

/// rows[i] = factor_of(i) * from[i], where `from` is [rows.count, padded(rows.size)].
template <typename T, class FactorOf>
void unpack(const float* from, const Rows<T>& rows, FactorOf factor_of) {
  for (std::int64_t i = 0; i < rows.count; ++i) {
    const auto factor = hn::Set(FloatTag(), factor_of(i));
    T* to = rows.row(i);
    for_lanes(rows.size, [&](std::int64_t k, auto part)
                             HWY_ATTR { store(part, hn::Mul(factor, hn::Load(FloatTag(), from + k)), to + k); });
    from += padded(rows.size);
  }
}

template <typename T>
void unpack(const float* from, const Rows<T>& rows) {
  unpack(from, rows, [](std::int64_t) { return 1.0f; });
}

/// A matrix [depth, columns] cut into panels of kMostVectors vectors of columns (the last may have fewer), each of
/// which lies in one piece: what a product walks through then fits in the first cache.
struct Panels {
  const float* data;
  std::int64_t depth;
  std::int64_t columns;  // whole vectors

  static constexpr std::int64_t kColumns = kMostVectors * kLanes;

  std::int64_t width(std::int64_t panel_begin) const { return std::min(kColumns, columns - panel_begin); }

  /// From column `column` on, of the panel that begins at column `panel_begin`.
  RightOperand from(std::int64_t panel_begin, std::int64_t column) const {
    return {data + panel_begin * depth + (column - panel_begin), width(panel_begin)};
  }
};

#if HWY_TARGET == HWY_SCALAR

// As below.
inline void transpose_strip(const Matrix& from, std::int64_t depth, float* to, std::int64_t to_row) {
  for (std::int64_t k = 0; k < depth; ++k) to[k * to_row] = from.data[k];
}

#else

// The four floats at `from` of every fourth row, one after another in a vector.
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const float* from, std::int64_t four_rows) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    const std::int64_t rows_in_half = static_cast<std::int64_t>(hn::MaxLanes(half)) / 4 * four_rows;
    return hn::Combine(d, load_blocks(half, from + rows_in_half, four_rows), load_blocks(half, from, four_rows));
  }
}

// to [depth, kLanes] = the transpose of from [kLanes, depth], where depth is whole vectors.
inline void transpose_strip(const Matrix& from, std::int64_t depth, float* to, std::int64_t to_row) {
  const FloatTag d;
  const hn::RepartitionToWide<FloatTag> pairs;
  const std::int64_t stride = from.stride;
  for (std::int64_t k = 0; k < depth; k += 4) {
    const auto row0 = load_blocks(d, from.data + k, 4 * stride);
    const auto row1 = load_blocks(d, from.data + k + stride, 4 * stride);
    const auto row2 = load_blocks(d, from.data + k + 2 * stride, 4 * stride);
    const auto row3 = load_blocks(d, from.data + k + 3 * stride, 4 * stride);
    // Interleaved twice, each block of four lanes holds what four rows have at one k.
    const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, row0, row1));
    const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, row2, row3));
    const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, row0, row1));
    const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, row2, row3));
    hn::Store(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, to + k * to_row);
    hn::Store(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, to + (k + 1) * to_row);
    hn::Store(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, to + (k + 2) * to_row);
    hn::Store(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, to + (k + 3) * to_row);
  }
}

#endif

/// The transpose of `from` [count, depth], where depth is whole vectors, as panels [depth, padded(count)] in `to`, with
/// zeros in the columns beyond `count`. `strip` is room for [kLanes, depth].
inline Panels transpose(const Matrix& from, std::int64_t count, std::int64_t depth, float* strip, float* to) {
  const Panels panels = {to, depth, padded(count)};
  for (std::int64_t panel = 0; panel < panels.columns; panel += Panels::kColumns) {
    const std::int64_t width = panels.width(panel);
    for (std::int64_t column = panel; column < panel + width; column += kLanes) {
      Matrix rows = {from.data + column * from.stride, from.stride};
      if (count - column < kLanes) {
        const std::int64_t left = count - column;
        pack(Rows<const float>{rows.data, left, depth, rows.stride}, 1.0f, strip);
        std::fill_n(strip + left * depth, (kLanes - left) * depth, 0.0f);
        rows = {strip, depth};
      }
      transpose_strip(rows, depth, to + panel * depth + (column - panel), width);
    }
  }
  return panels;
}

}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // EDGEWISE_KERNELS_CPU_PACK_INL_H_
