// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "edgewise/base/bfloat16.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

// The innermost loops of products on AVX-512: a few rows of the left side by a panel, up to 64 columns of the right
// one. An instruction takes a step of the depth: a float, two bf16 or four int8, which lie together on both sides.

namespace edgewise::kernels::cpu {

inline constexpr std::int64_t kPanelLanes = 16;  // sums of a vector
inline constexpr int kPanelVectors = 4;          // of a panel, at most
inline constexpr int kPanelRows = 6;  // that go through the registers at once: 24 sums, 4 vectors of a panel, 1 factor
inline constexpr std::int64_t kPanelColumns = kPanelVectors * kPanelLanes;
inline constexpr std::int64_t kStepBytes = 4;
inline constexpr std::int64_t kPanelVectorBytes = kPanelLanes * kStepBytes;

/// Elements of a step.
template <typename T>
inline constexpr std::int64_t kOfStep = kStepBytes / std::int64_t{sizeof(T)};

#ifdef __x86_64__

#define EDGEWISE_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))
// For all types, which are one template: what is made of floats has no instruction of the other types.
#define EDGEWISE_PRODUCTS __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni,avx512bf16")))

/// The first `count` lanes of a vector, all where there are more.
inline __mmask16 lanes_of(std::int64_t count) {
  return static_cast<__mmask16>((1U << (count < kPanelLanes ? count : kPanelLanes)) - 1);
}

/// What a group of rows reads and writes in one panel. Sums are integers, or floats in their place.
struct PanelBlock {
  const char* a;
  std::int64_t a_row;   // bytes from a row to the next
  std::int64_t a_step;  // and from a step to the next
  const char* panel;
  const char* ahead;  // what is needed next and may still be far away: 64 bytes with each step
  std::int64_t ahead_step;
  const std::int32_t* begins;  // what the sums of a row begin at; from a row to the next it is `begins_row` further
  std::int64_t begins_row;
  std::int64_t steps;
  std::int32_t* sums;  // [rows, 64]
};

template <typename T>
EDGEWISE_PRODUCTS inline __m512i add_products(__m512i sums, __m512i left, __m512i right) {
  if constexpr (std::is_same_v<T, std::int8_t>) {
    return _mm512_dpbusd_epi32(sums, left, right);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return _mm512_castps_si512(_mm512_dpbf16_ps(_mm512_castsi512_ps(sums), reinterpret_cast<__m512bh>(left),
                                                reinterpret_cast<__m512bh>(right)));
  } else {
    return _mm512_castps_si512(
        _mm512_fmadd_ps(_mm512_castsi512_ps(left), _mm512_castsi512_ps(right), _mm512_castsi512_ps(sums)));
  }
}

// One function, for all its sums are in registers from the first line to the last.
template <typename T, int kRows, int kVectors>
EDGEWISE_PRODUCTS void multiply_block(const PanelBlock& p) {
  __m512i sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
    for (int n = 0; n < kVectors; ++n) sums[m][n] = _mm512_load_si512(p.begins + m * p.begins_row + n * kPanelLanes);
  }
  const char* a = p.a;
  const char* panel = p.panel;
  const char* ahead = p.ahead;
  for (std::int64_t step = 0; step < p.steps; ++step) {
    _mm_prefetch(ahead, _MM_HINT_T1);
    __m512i right[kVectors];
#pragma GCC unroll 8
    for (int n = 0; n < kVectors; ++n) right[n] = _mm512_loadu_si512(panel + n * kPanelVectorBytes);
#pragma GCC unroll 8
    for (int m = 0; m < kRows; ++m) {
      std::int32_t factors = 0;
      std::memcpy(&factors, a + m * p.a_row, sizeof(factors));
      const __m512i left = _mm512_set1_epi32(factors);
#pragma GCC unroll 8
      for (int n = 0; n < kVectors; ++n) sums[m][n] = add_products<T>(sums[m][n], left, right[n]);
    }
    a += p.a_step;
    panel += kVectors * kPanelVectorBytes;
    ahead += p.ahead_step;
  }
#pragma GCC unroll 8
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
    for (int n = 0; n < kVectors; ++n) _mm512_store_si512(p.sums + m * kPanelColumns + n * kPanelLanes, sums[m][n]);
  }
}

using MultiplyBlock = void (*)(const PanelBlock&);

template <typename T, int kVectors, int... kRowsLessOne>
constexpr auto blocks_of(std::integer_sequence<int, kRowsLessOne...> /*rows*/) {
  return std::array<MultiplyBlock, kPanelRows>{&multiply_block<T, kRowsLessOne + 1, kVectors>...};
}

template <typename T, int... kVectorsLessOne>
constexpr auto all_blocks(std::integer_sequence<int, kVectorsLessOne...> /*vectors*/) {
  return std::array{blocks_of<T, kVectorsLessOne + 1>(std::make_integer_sequence<int, kPanelRows>())...};
}

/// multiply_block for 1 to kPanelRows rows and a panel of 1 to kPanelVectors vectors.
template <typename T>
MultiplyBlock block_for(std::int64_t rows, std::int64_t vectors) {
  static constexpr auto kBlocks = all_blocks<T>(std::make_integer_sequence<int, kPanelVectors>());
  return kBlocks[static_cast<std::size_t>(vectors - 1)][static_cast<std::size_t>(rows - 1)];
}

/// Calls see(first, count) for groups of at most kPanelRows of `rows` rows, as equal as can be.
template <class See>
void for_row_groups(std::int64_t rows, const See& see) {
  const std::int64_t groups = (rows + kPanelRows - 1) / kPanelRows;
  std::int64_t first = 0;
  for (std::int64_t group = 0; group < groups; ++group) {
    const std::int64_t count = rows / groups + (group < rows % groups ? 1 : 0);
    see(first, count);
    first += count;
  }
}

#endif

}  // namespace edgewise::kernels::cpu
