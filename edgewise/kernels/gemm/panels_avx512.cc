// SPDX-License-Identifier: Apache-2.0
// Products with panels of 64 columns, on AVX-512.
//
// VNNI multiplies unsigned by signed numbers. Therefore 128 is added to each 8-bit number of the left side, and each
// sum starts from -128 times the sum of its right-side column, which cancels the addition. Sums wrap around, so that
// they are exact even if a partial sum overflows.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "edgewise/kernels/gemm/micro_kernels.h"
#include "edgewise/kernels/gemm/panels.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/kernels/simd/scratch.h"

namespace edgewise::kernels::cpu {

template <typename T>
bool has_micro_kernels() {
#ifdef __x86_64__
  const bool has_avx512 = __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  if (!has_avx512 || instruction_set() != InstructionSet::kAvx512) return false;
  if (std::is_same_v<T, std::int8_t>) return __builtin_cpu_supports("avx512vnni") != 0;
  if (std::is_same_v<T, BFloat16>) return __builtin_cpu_supports("avx512bf16") != 0;
  return true;
#else
  return false;
#endif
}

template bool has_micro_kernels<float>();
template bool has_micro_kernels<BFloat16>();
template bool has_micro_kernels<std::int8_t>();

#ifdef __x86_64__

namespace {

/// Applies the epilogue to a block of sums and writes the values. The sums are in memory, because g++ 12 would run out
/// of registers; their memory shares no cache line with the result.
template <typename T>
EDGEWISE_AVX512 void write_values(const std::int32_t* sums, const OutputBlock& to) {
  const __m512 lowest = _mm512_set1_ps(to.epilogue.is_relu ? 0.0f : -std::numeric_limits<float>::infinity());
  for (std::int64_t n = 0; n < to.columns; n += kPanelLanes) {
    const __mmask16 lanes = mask_of_first(to.columns - n);
    __m512 bias = _mm512_setzero_ps();
    if (to.epilogue.bias != nullptr) bias = _mm512_maskz_loadu_ps(lanes, to.epilogue.bias + n);
    __m512 column_scales = _mm512_setzero_ps();
    if constexpr (std::is_same_v<T, std::int8_t>)
      column_scales = _mm512_maskz_loadu_ps(lanes, to.epilogue.column_scales + n);
    for (std::int64_t m = 0; m < to.rows; ++m) {
      const __m512i row_sums = _mm512_load_si512(sums + m * kPanelColumns + n);
      __m512 value;
      if constexpr (std::is_same_v<T, std::int8_t>) {
        const __m512 scale = _mm512_mul_ps(column_scales, _mm512_set1_ps(to.epilogue.row_scales[m]));
        // g++ 12 warns about the unmasked intrinsic.
        value = _mm512_fmadd_ps(_mm512_maskz_cvtepi32_ps(lanes, row_sums), scale, bias);
      } else {
        value = _mm512_add_ps(_mm512_castsi512_ps(row_sums), bias);
      }
      _mm512_mask_storeu_ps(to.out + m * to.stride + n, lanes, _mm512_maskz_max_ps(lanes, value, lowest));
    }
  }
}

/// The left side in the form that micro-kernels need: whole steps of the depth.
struct LeftSide {
  const char* rows;
  std::int64_t stride;  // bytes
};

LeftSide prepare_left_side(const PanelProduct<float>& p, AlignedBuffer& /*buffer*/) {
  return {reinterpret_cast<const char*>(p.a), p.a_stride * std::int64_t{sizeof(float)}};
}

/// Copies the rows and appends a zero to each if the depth is odd.
LeftSide prepare_left_side(const PanelProduct<BFloat16>& p, AlignedBuffer& buffer) {
  constexpr std::int64_t kBytes{sizeof(BFloat16)};
  if (p.depth % 2 == 0) return {reinterpret_cast<const char*>(p.a), p.a_stride * kBytes};
  const std::int64_t stride = p.depth + 1;
  auto* rows = buffer.elements<BFloat16>(p.rows * stride);
  for (std::int64_t row = 0; row < p.rows; ++row) {
    std::copy_n(p.a + row * p.a_stride, p.depth, rows + row * stride);
    rows[row * stride + p.depth] = BFloat16(0.0f);
  }
  return {reinterpret_cast<const char*>(rows), stride * kBytes};
}

/// Adds 128 to each number, and pads rows to whole vectors. The padding is multiplied by the zeros of the panels.
EDGEWISE_AVX512 LeftSide prepare_left_side(const PanelProduct<std::int8_t>& p, AlignedBuffer& buffer) {
  const std::int64_t stride = divide_up(p.depth, kPanelVectorBytes) * kPanelVectorBytes;
  char* rows = buffer.elements<char>(p.rows * stride);
  const __m512i shift = _mm512_set1_epi8(-128);
  for (std::int64_t row = 0; row < p.rows; ++row) {
    for (std::int64_t k = 0; k < p.depth; k += kPanelVectorBytes) {
      const std::int64_t count = std::min(kPanelVectorBytes, p.depth - k);
      const __m512i values =
          _mm512_maskz_loadu_epi8(~std::uint64_t{0} >> (kPanelVectorBytes - count), p.a + row * p.a_stride + k);
      _mm512_store_si512(rows + row * stride + k, _mm512_xor_si512(values, shift));
    }
  }
  return {rows, stride};
}

}  // namespace

template <typename T>
void multiply_avx512_panels(const PanelProduct<T>& p, std::int64_t begin, std::int64_t end) {
  static thread_local AlignedBuffer buffer;
  const PanelLayout<T> layout(PanelFormat::kAvx512, p.depth, p.columns);
  const LeftSide a = prepare_left_side(p, buffer);
  const auto* bytes = static_cast<const char*>(p.panels);
  const auto* initial_sums = reinterpret_cast<const std::int32_t*>(bytes + layout.initial_sums_offset());
  alignas(64) std::int32_t sums[kPanelRows * kPanelColumns];
  for (std::int64_t panel = begin; panel < end; ++panel) {
    const std::int64_t first = panel * kPanelColumns;
    const std::int64_t vectors = layout.count_vectors(panel);
    // Each group of rows prefetches a part of the next panel.
    const char* next = bytes + layout.panel_offset(std::min(panel + 1, end - 1));
    std::int64_t group = 0;
    for_row_groups(p.rows, [&](std::int64_t row, std::int64_t count) {
      find_micro_kernel<T>(count, vectors)({.a = a.rows + row * a.stride,
                                            .a_row_stride = a.stride,
                                            .a_step_stride = kStepBytes,
                                            .panel = bytes + layout.panel_offset(panel),
                                            .prefetch = next + group % vectors * layout.steps() * kPanelVectorBytes,
                                            .prefetch_stride = kPanelVectorBytes,
                                            .initial_sums = initial_sums + first,
                                            .initial_sums_stride = 0,
                                            .steps = layout.steps(),
                                            .sums = sums});
      write_values<T>(sums, {.rows = count,
                             .columns = std::min(kPanelColumns, p.columns - first),
                             .epilogue = slice_epilogue(p.epilogue, row, first),
                             .out = p.out + row * p.out_stride + first,
                             .stride = p.out_stride});
      ++group;
    });
  }
}

#else

template <typename T>
void multiply_avx512_panels(const PanelProduct<T>& /*p*/, std::int64_t /*begin*/, std::int64_t /*end*/) {}

#endif

template void multiply_avx512_panels(const PanelProduct<float>&, std::int64_t, std::int64_t);
template void multiply_avx512_panels(const PanelProduct<BFloat16>&, std::int64_t, std::int64_t);
template void multiply_avx512_panels(const PanelProduct<std::int8_t>&, std::int64_t, std::int64_t);

}  // namespace edgewise::kernels::cpu
