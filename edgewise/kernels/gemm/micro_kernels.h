// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "edgewise/base/bfloat16.h"
#include "edgewise/kernels/gemm/panels.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

// The innermost loops of matrix products on AVX-512. A micro-kernel multiplies up to 6 rows of the left side by a
// panel: up to 64 columns of the right side, stored next to each other. Each multiply instruction takes one step of the
// depth: the 4 bytes of one float, two bf16 or four int8, which are adjacent in memory on both sides.
namespace edgewise::kernels::cpu {

// 6 rows of 4 vectors take 24 of 32 registers for sums, 4 for the panel and 1 for a factor.
inline constexpr int kPanelVectors = panel_vectors(PanelFormat::kAvx512);
inline constexpr std::int64_t kPanelColumns = kPanelVectors * kPanelLanes;
inline constexpr std::int64_t kPanelVectorBytes = kPanelLanes * kStepBytes;

template <typename T>
inline constexpr std::int64_t kElementsOfStep = panel_step_size<T>(PanelFormat::kAvx512);

/// Returns whether this machine has the instructions of the micro-kernels of T, and kAvx512 is in use. BFloat16 and
/// std::int8_t need instructions that add two or four products.
template <typename T>
bool has_micro_kernels();

#ifdef __x86_64__

#define EDGEWISE_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))
// The target of a template over all types; its instance for float contains no VNNI or bf16 instructions.
#define EDGEWISE_PRODUCTS __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni,avx512bf16")))

/// Returns the mask of the first `count` lanes of a vector; of all lanes if `count` is larger.
inline __mmask16 mask_of_first(std::int64_t count) {
  return static_cast<__mmask16>((1U << (count < kPanelLanes ? count : kPanelLanes)) - 1);
}

/// The arguments of a micro-kernel. Sums are integers, or the bits of floats.
struct MicroKernelArguments {
  /// The left side, [rows, steps, 4 bytes]; with int8, unsigned bytes: each value plus 128 (panels_avx512.cc).
  const char* a;
  std::int64_t a_row_stride;         // bytes
  std::int64_t a_step_stride;        // bytes
  const char* panel;                 // [steps, vectors, 64 bytes]
  const char* prefetch;              // memory to prefetch into the second-level cache: one cache line per step
  std::int64_t prefetch_stride;      // bytes from one line to the next
  const std::int32_t* initial_sums;  // [rows, vectors * 16]
  std::int64_t initial_sums_stride;  // elements from one row to the next; 0: all rows share the first
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

// The loops are in a single function, so that all sums stay in registers.
template <typename T, int kRows, int kVectors>
EDGEWISE_PRODUCTS void multiply_block(const MicroKernelArguments& p) {
  __m512i sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
    for (int n = 0; n < kVectors; ++n)
      sums[m][n] = _mm512_load_si512(p.initial_sums + m * p.initial_sums_stride + n * kPanelLanes);
  }
  const char* a = p.a;
  const char* panel = p.panel;
  const char* prefetch = p.prefetch;
  for (std::int64_t step = 0; step < p.steps; ++step) {
    _mm_prefetch(prefetch, _MM_HINT_T1);
    __m512i right[kVectors];
#pragma GCC unroll 8
    for (int n = 0; n < kVectors; ++n) right[n] = _mm512_loadu_si512(panel + n * kPanelVectorBytes);
#pragma GCC unroll 8
    for (int m = 0; m < kRows; ++m) {
      std::int32_t factors = 0;
      std::memcpy(&factors, a + m * p.a_row_stride, sizeof(factors));
      const __m512i left = _mm512_set1_epi32(factors);
#pragma GCC unroll 8
      for (int n = 0; n < kVectors; ++n) sums[m][n] = add_products<T>(sums[m][n], left, right[n]);
    }
    a += p.a_step_stride;
    panel += kVectors * kPanelVectorBytes;
    prefetch += p.prefetch_stride;
  }
#pragma GCC unroll 8
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
    for (int n = 0; n < kVectors; ++n) _mm512_store_si512(p.sums + m * kPanelColumns + n * kPanelLanes, sums[m][n]);
  }
}

using MicroKernel = void (*)(const MicroKernelArguments&);

template <typename T, int kVectors, int... kRowsMinusOne>
constexpr auto list_kernels_by_rows(std::integer_sequence<int, kRowsMinusOne...> /*rows*/) {
  return std::array<MicroKernel, kPanelRows>{&multiply_block<T, kRowsMinusOne + 1, kVectors>...};
}

template <typename T, int... kVectorsMinusOne>
constexpr auto list_kernels(std::integer_sequence<int, kVectorsMinusOne...> /*vectors*/) {
  return std::array{list_kernels_by_rows<T, kVectorsMinusOne + 1>(std::make_integer_sequence<int, kPanelRows>())...};
}

/// Returns multiply_block() for 1 to kPanelRows rows and a panel of 1 to kPanelVectors vectors.
template <typename T>
MicroKernel find_micro_kernel(std::int64_t rows, std::int64_t vectors) {
  static constexpr auto kKernels = list_kernels<T>(std::make_integer_sequence<int, kPanelVectors>());
  return kKernels[static_cast<std::size_t>(vectors - 1)][static_cast<std::size_t>(rows - 1)];
}

#endif

}  // namespace edgewise::kernels::cpu
