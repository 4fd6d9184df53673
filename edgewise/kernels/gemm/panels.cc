// SPDX-License-Identifier: Apache-2.0
// VNNI multiplies unsigned numbers with signed ones: a left side is taken 128 larger than it is, and sums begin at what
// makes up for that, -128 times the sum of a column. They wrap around, so that sums are exact whatever lies between.
#include "edgewise/kernels/gemm/panels.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/simd/aligned_bytes.h"
#include "edgewise/kernels/gemm/gemm_onednn.h"
#include "edgewise/kernels/gemm/panel_block.h"
#include "edgewise/kernels/simd/instruction_set.h"

namespace edgewise::kernels::cpu {
namespace {

std::int64_t pieces_of(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }

/// Where things lie: panels [N / 64, steps of the depth, 64, a step], the last narrower by whole vectors, zeros where
/// there is no more of the matrix; then what sums begin at, [N].
template <typename T>
struct PanelLayout {
  std::int64_t vectors;  // of columns
  std::int64_t steps;    // of the depth

  PanelLayout(std::int64_t depth, std::int64_t columns)
      : vectors(pieces_of(columns, kPanelLanes)), steps(pieces_of(depth, kOfStep<T>)) {}

  std::int64_t panel(std::int64_t index) const { return index * kPanelVectors * steps * kPanelVectorBytes; }
  std::int64_t vectors_of(std::int64_t panel) const {
    return std::min<std::int64_t>(kPanelVectors, vectors - panel * kPanelVectors);
  }
  std::int64_t begins() const { return vectors * steps * kPanelVectorBytes; }
  std::int64_t bytes() const { return begins() + vectors * kPanelVectorBytes; }

  /// Of element (k, n), in elements.
  std::int64_t place(std::int64_t k, std::int64_t n) const {
    const std::int64_t of_panel = n / kPanelColumns;
    const std::int64_t column = n - of_panel * kPanelColumns;
    const std::int64_t in_panel =
        (k / kOfStep<T> * vectors_of(of_panel) * kPanelLanes + column) * kOfStep<T> + k % kOfStep<T>;
    return panel(of_panel) / std::int64_t{sizeof(T)} + in_panel;
  }
};

#ifdef __x86_64__

/// Where the values of a block go.
struct Target {
  std::int64_t rows;
  std::int64_t columns;
  PanelScale scale;
  float* out;
  std::int64_t stride;
};

/// What sums stand for. Not made while they are in registers, of which g++ 12 then has too few, but from memory that no
/// row of a result shares lines of the cache with.
template <typename T>
EDGEWISE_AVX512 void write_values(const std::int32_t* sums, const Target& to) {
  const __m512 lowest = _mm512_set1_ps(to.scale.is_relu ? 0.0f : -std::numeric_limits<float>::infinity());
  for (std::int64_t n = 0; n < to.columns; n += kPanelLanes) {
    const __mmask16 lanes = lanes_of(to.columns - n);
    __m512 bias = _mm512_setzero_ps();
    if (to.scale.bias != nullptr) bias = _mm512_maskz_loadu_ps(lanes, to.scale.bias + n);
    __m512 of_columns = _mm512_setzero_ps();
    if constexpr (std::is_same_v<T, std::int8_t>) of_columns = _mm512_maskz_loadu_ps(lanes, to.scale.columns + n);
    for (std::int64_t m = 0; m < to.rows; ++m) {
      const __m512i of_row = _mm512_load_si512(sums + m * kPanelColumns + n);
      __m512 value;
      if constexpr (std::is_same_v<T, std::int8_t>) {
        const __m512 scale = _mm512_mul_ps(of_columns, _mm512_set1_ps(to.scale.rows[m]));
        // With masks, since g++ 12 warns of what it does without them.
        value = _mm512_fmadd_ps(_mm512_maskz_cvtepi32_ps(lanes, of_row), scale, bias);
      } else {
        value = _mm512_add_ps(_mm512_castsi512_ps(of_row), bias);
      }
      _mm512_mask_storeu_ps(to.out + m * to.stride + n, lanes, _mm512_maskz_max_ps(lanes, value, lowest));
    }
  }
}

/// Rows as instructions want them.
struct LeftSide {
  const char* rows;
  std::int64_t stride;  // bytes
};

LeftSide left_side(const PanelProduct<float>& p, AlignedBytes& /*room*/) {
  return {reinterpret_cast<const char*>(p.a), p.a_stride * std::int64_t{sizeof(float)}};
}

/// As they are, or copied to where zeros make up the last pair.
LeftSide left_side(const PanelProduct<BFloat16>& p, AlignedBytes& room) {
  constexpr std::int64_t kBytes{sizeof(BFloat16)};
  if (p.depth % 2 == 0) return {reinterpret_cast<const char*>(p.a), p.a_stride * kBytes};
  const std::int64_t stride = p.depth + 1;
  auto* rows = room.elements<BFloat16>(p.rows * stride);
  for (std::int64_t row = 0; row < p.rows; ++row) {
    std::copy_n(p.a + row * p.a_stride, p.depth, rows + row * stride);
    rows[row * stride + p.depth] = BFloat16(0.0f);
  }
  return {reinterpret_cast<const char*>(rows), stride * kBytes};
}

/// Made unsigned, whole vectors of them: what is behind the depth meets zeros.
EDGEWISE_AVX512 LeftSide left_side(const PanelProduct<std::int8_t>& p, AlignedBytes& room) {
  const std::int64_t stride = pieces_of(p.depth, kPanelVectorBytes) * kPanelVectorBytes;
  char* rows = room.elements<char>(p.rows * stride);
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

PanelScale scale_from(const PanelScale& scale, std::int64_t row, std::int64_t column) {
  PanelScale part = scale;
  if (scale.rows != nullptr) part.rows += row;
  if (scale.columns != nullptr) part.columns += column;
  if (scale.bias != nullptr) part.bias += column;
  return part;
}

#endif

}  // namespace

template <>
bool panels_are_fast<float>() {
#ifdef __x86_64__
  static const bool can_run = __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  return can_run && instruction_set() == InstructionSet::kAvx512;
#else
  return false;
#endif
}

template <>
bool panels_are_fast<std::int8_t>() {
#ifdef __x86_64__
  static const bool can_run = __builtin_cpu_supports("avx512vnni") != 0 && !onednn::has_amx();
  return can_run && panels_are_fast<float>();
#else
  return false;
#endif
}

template <>
bool panels_are_fast<BFloat16>() {
#ifdef __x86_64__
  static const bool can_run = __builtin_cpu_supports("avx512bf16") != 0 && !onednn::has_amx();
  return can_run && panels_are_fast<float>() && bf16_is_native();
#else
  return false;
#endif
}

template <typename T>
std::size_t size_of_panels(std::int64_t depth, std::int64_t columns) {
  return static_cast<std::size_t>(PanelLayout<T>(depth, columns).bytes());
}

template <typename T, typename From>
void pack_panels(const Matrix<From>& from, std::int64_t depth, std::int64_t columns, void* to) {
  const PanelLayout<T> layout(depth, columns);
  const bool is_in_rows = from.layout == MatrixLayout::kRows;
  const std::int64_t row_step = is_in_rows ? from.stride : 1;
  const std::int64_t column_step = is_in_rows ? 1 : from.stride;
  std::memset(to, 0, static_cast<std::size_t>(layout.bytes()));
  auto* elements = static_cast<T*>(to);
  auto* begins = reinterpret_cast<std::int32_t*>(static_cast<char*>(to) + layout.begins());
  parallel_for(columns, 1 + 65'536 / (depth + 1), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      for (std::int64_t k = 0; k < depth; ++k) {
        const T element(from.data[k * row_step + n * column_step]);
        elements[layout.place(k, n)] = element;
        if constexpr (std::is_same_v<T, std::int8_t>) begins[n] -= 128 * element;
      }
    }
  });
}

std::int64_t num_panels(std::int64_t columns) { return pieces_of(columns, kPanelColumns); }

#ifdef __x86_64__

template <typename T>
void multiply_panels(const PanelProduct<T>& p, std::int64_t begin, std::int64_t end) {
  static thread_local AlignedBytes room;
  const PanelLayout<T> layout(p.depth, p.columns);
  const LeftSide a = left_side(p, room);
  const auto* bytes = static_cast<const char*>(p.panels);
  const auto* begins = reinterpret_cast<const std::int32_t*>(bytes + layout.begins());
  alignas(64) std::int32_t sums[kPanelRows * kPanelColumns];
  for (std::int64_t panel = begin; panel < end; ++panel) {
    const std::int64_t first = panel * kPanelColumns;
    const std::int64_t vectors = layout.vectors_of(panel);
    // The next panel comes nearer while the rows go through this one, a part of it with each group.
    const char* next = bytes + layout.panel(std::min(panel + 1, end - 1));
    std::int64_t group = 0;
    for_row_groups(p.rows, [&](std::int64_t row, std::int64_t count) {
      block_for<T>(count, vectors)({.a = a.rows + row * a.stride,
                                    .a_row = a.stride,
                                    .a_step = kStepBytes,
                                    .panel = bytes + layout.panel(panel),
                                    .ahead = next + group % vectors * layout.steps * kPanelVectorBytes,
                                    .ahead_step = kPanelVectorBytes,
                                    .begins = begins + first,
                                    .begins_row = 0,
                                    .steps = layout.steps,
                                    .sums = sums});
      write_values<T>(sums, {.rows = count,
                             .columns = std::min(kPanelColumns, p.columns - first),
                             .scale = scale_from(p.scale, row, first),
                             .out = p.out + row * p.out_stride + first,
                             .stride = p.out_stride});
      ++group;
    });
  }
}

#else

template <typename T>
void multiply_panels(const PanelProduct<T>& /*p*/, std::int64_t /*begin*/, std::int64_t /*end*/) {}

#endif

template std::size_t size_of_panels<float>(std::int64_t, std::int64_t);
template std::size_t size_of_panels<BFloat16>(std::int64_t, std::int64_t);
template std::size_t size_of_panels<std::int8_t>(std::int64_t, std::int64_t);
template void pack_panels<float>(const Matrix<float>&, std::int64_t, std::int64_t, void*);
template void pack_panels<BFloat16>(const Matrix<float>&, std::int64_t, std::int64_t, void*);
template void pack_panels<std::int8_t>(const Matrix<std::int8_t>&, std::int64_t, std::int64_t, void*);
template void multiply_panels(const PanelProduct<float>&, std::int64_t, std::int64_t);
template void multiply_panels(const PanelProduct<BFloat16>&, std::int64_t, std::int64_t);
template void multiply_panels(const PanelProduct<std::int8_t>&, std::int64_t, std::int64_t);

}  // namespace edgewise::kernels::cpu
