// SPDX-License-Identifier: Apache-2.0
// The instructions multiply unsigned numbers with signed ones: a left side is taken 128 larger than it is, and sums
// begin at what makes up for that, -128 times the sum of a column. They wrap around, so that sums are exact whatever
// lies between.
#include "edgewise/kernels/cpu/panels.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/aligned_bytes.h"
#include "edgewise/kernels/cpu/gemm_onednn.h"
#include "edgewise/kernels/cpu/packed_matrix.h"
#include "edgewise/kernels/instruction_set.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace edgewise::kernels::cpu {
namespace {

constexpr std::int64_t kLanes = 16;  // sums of a vector
constexpr int kMostVectors = 4;      // of a panel
constexpr int kMostRows = 6;         // that go through the registers at once: 24 sums, 4 vectors of a panel, 1 factor
constexpr std::int64_t kPanelColumns = kMostVectors * kLanes;
constexpr std::int64_t kQuad = 4;  // products that an instruction sums
constexpr std::int64_t kVectorBytes = kLanes * kQuad;

std::int64_t pieces_of(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }

/// Where things lie: panels [N / 64, K / 4, 64, 4], the last narrower by whole vectors, zeros where there is no more of
/// the matrix; then what sums begin at, [N].
struct PanelLayout {
  std::int64_t vectors;  // of columns
  std::int64_t quads;    // of the depth

  PanelLayout(std::int64_t depth, std::int64_t columns)
      : vectors(pieces_of(columns, kLanes)), quads(pieces_of(depth, kQuad)) {}

  std::int64_t panel(std::int64_t index) const { return index * kMostVectors * quads * kVectorBytes; }
  std::int64_t vectors_of(std::int64_t panel) const {
    return std::min<std::int64_t>(kMostVectors, vectors - panel * kMostVectors);
  }
  std::int64_t begins() const { return vectors * quads * kVectorBytes; }
  std::int64_t bytes() const { return begins() + vectors * kLanes * std::int64_t{sizeof(std::int32_t)}; }

  /// Of element (k, n).
  std::int64_t place(std::int64_t k, std::int64_t n) const {
    const std::int64_t of_panel = n / kPanelColumns;
    const std::int64_t column = n - of_panel * kPanelColumns;
    return panel(of_panel) + (k / kQuad * vectors_of(of_panel) * kLanes + column) * kQuad + k % kQuad;
  }
};

#ifdef __x86_64__

#define EDGEWISE_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

/// What a group of rows reads and writes in one panel.
struct Block {
  const std::uint8_t* a;
  std::int64_t a_stride;
  const std::int8_t* panel;
  const std::int8_t* ahead;  // what is needed next and may still be far away, a vector for each quad
  const std::int32_t* begins;
  std::int64_t quads;
  std::int32_t* out;
  std::int64_t out_stride;
  std::uint16_t last_lanes;  // which lanes of the last vector are columns
};

template <int kRows, int kVectors>
EDGEWISE_VNNI void multiply_block(const Block& p) {
  __m512i sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
    for (int n = 0; n < kVectors; ++n) sums[m][n] = _mm512_loadu_si512(p.begins + n * kLanes);
  }
  const std::uint8_t* a = p.a;
  const std::int8_t* panel = p.panel;
  const std::int8_t* ahead = p.ahead;
  for (std::int64_t quad = 0; quad < p.quads; ++quad) {
    _mm_prefetch(ahead, _MM_HINT_T1);
    __m512i right[kVectors];
#pragma GCC unroll 8
    for (int n = 0; n < kVectors; ++n) right[n] = _mm512_loadu_si512(panel + n * kVectorBytes);
#pragma GCC unroll 8
    for (int m = 0; m < kRows; ++m) {
      std::int32_t factors = 0;
      std::memcpy(&factors, a + m * p.a_stride, sizeof(factors));
      const __m512i left = _mm512_set1_epi32(factors);
#pragma GCC unroll 8
      for (int n = 0; n < kVectors; ++n) sums[m][n] = _mm512_dpbusd_epi32(sums[m][n], left, right[n]);
    }
    a += kQuad;
    panel += kVectors * kVectorBytes;
    ahead += kVectorBytes;
  }

#pragma GCC unroll 8
  for (int m = 0; m < kRows; ++m) {
    std::int32_t* out = p.out + m * p.out_stride;
#pragma GCC unroll 8
    for (int n = 0; n + 1 < kVectors; ++n) _mm512_storeu_si512(out + n * kLanes, sums[m][n]);
    _mm512_mask_storeu_epi32(out + (kVectors - 1) * kLanes, p.last_lanes, sums[m][kVectors - 1]);
  }
}

/// What sums stand for. Not made while they are in registers, of which g++ 12 then has too few, but from memory that no
/// row of a result shares lines of the cache with.
EDGEWISE_VNNI void write_scaled(const Block& sums, std::int64_t rows, std::int64_t vectors, const PanelScale& scale,
                                float* to, std::int64_t stride) {
  const __m512 lowest = _mm512_set1_ps(scale.is_relu ? 0.0f : -std::numeric_limits<float>::infinity());
  for (std::int64_t n = 0; n < vectors; ++n) {
    const __mmask16 lanes = n + 1 < vectors ? 0xFFFF : sums.last_lanes;
    const __m512 of_columns = _mm512_maskz_loadu_ps(lanes, scale.columns + n * kLanes);
    __m512 bias = _mm512_setzero_ps();
    if (scale.bias != nullptr) bias = _mm512_maskz_loadu_ps(lanes, scale.bias + n * kLanes);
    for (std::int64_t m = 0; m < rows; ++m) {
      const __m512 factor = _mm512_mul_ps(of_columns, _mm512_set1_ps(scale.rows[m]));
      // With masks, since g++ 12 warns of what it does without them.
      const __m512i sum = _mm512_loadu_si512(sums.out + m * sums.out_stride + n * kLanes);
      const __m512 value = _mm512_fmadd_ps(_mm512_maskz_cvtepi32_ps(lanes, sum), factor, bias);
      _mm512_mask_storeu_ps(to + m * stride + n * kLanes, lanes, _mm512_maskz_max_ps(lanes, value, lowest));
    }
  }
}

using MultiplyBlock = void (*)(const Block&);

template <int kVectors, int... kRowsLessOne>
constexpr auto blocks_of(std::integer_sequence<int, kRowsLessOne...> /*rows*/) {
  return std::array<MultiplyBlock, kMostRows>{&multiply_block<kRowsLessOne + 1, kVectors>...};
}

template <int... kVectorsLessOne>
constexpr auto all_blocks(std::integer_sequence<int, kVectorsLessOne...> /*vectors*/) {
  return std::array{blocks_of<kVectorsLessOne + 1>(std::make_integer_sequence<int, kMostRows>())...};
}

constexpr auto kBlocks = all_blocks(std::make_integer_sequence<int, kMostVectors>());

/// Rows made unsigned, whole vectors of them: what is behind the depth meets zeros.
template <typename Out>
EDGEWISE_VNNI const std::uint8_t* unsigned_rows(const PanelProduct<Out>& p, std::int64_t stride, AlignedBytes& room) {
  auto* rows = room.elements<std::uint8_t>(p.rows * stride);
  const __m512i shift = _mm512_set1_epi8(-128);
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const std::int8_t* from = p.a + row * p.a_stride;
    std::uint8_t* to = rows + row * stride;
    for (std::int64_t k = 0; k < p.depth; k += kVectorBytes) {
      const std::int64_t count = std::min(kVectorBytes, p.depth - k);
      const __m512i values = _mm512_maskz_loadu_epi8(~std::uint64_t{0} >> (kVectorBytes - count), from + k);
      _mm512_store_si512(to + k, _mm512_xor_si512(values, shift));
    }
  }
  return rows;
}

#endif

PanelScale scale_from(const PanelScale& scale, std::int64_t row, std::int64_t column) {
  PanelScale part = scale;
  if (scale.rows != nullptr) part.rows += row;
  if (scale.columns != nullptr) part.columns += column;
  if (scale.bias != nullptr) part.bias += column;
  return part;
}

}  // namespace

bool panels_are_fast() {
#ifdef __x86_64__
  static const bool has_instructions =
      __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vnni") != 0 && !onednn::has_amx();
  return has_instructions && instruction_set() == InstructionSet::kAvx512;
#else
  return false;
#endif
}

std::size_t size_of_panels(std::int64_t depth, std::int64_t columns) {
  return static_cast<std::size_t>(PanelLayout(depth, columns).bytes());
}

std::int64_t num_panels(std::int64_t columns) { return pieces_of(columns, kPanelColumns); }

void pack_panels(std::int64_t depth, std::int64_t columns, const std::int8_t* from, void* to) {
  const PanelLayout layout(depth, columns);
  auto* bytes = static_cast<std::int8_t*>(to);
  std::memset(to, 0, static_cast<std::size_t>(layout.bytes()));
  parallel_for(columns, 1 + 65'536 / depth, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      const std::int8_t* column = from + n * depth;
      std::int32_t sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        bytes[layout.place(k, n)] = column[k];
        sum += column[k];
      }
      sum *= -128;
      std::memcpy(bytes + layout.begins() + n * std::int64_t{sizeof(sum)}, &sum, sizeof(sum));
    }
  });
}

void unpack_panels(std::int64_t depth, std::int64_t columns, const void* from, float* to) {
  const PanelLayout layout(depth, columns);
  const auto* bytes = static_cast<const std::int8_t*>(from);
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t n = 0; n < columns; ++n) *to++ = bytes[layout.place(k, n)];
  }
}

#ifdef __x86_64__

template <typename Out>
void multiply_panels(const PanelProduct<Out>& p, std::int64_t begin, std::int64_t end) {
  static thread_local AlignedBytes room;
  const PanelLayout layout(p.depth, p.columns);
  const std::int64_t stride = pieces_of(p.depth, kVectorBytes) * kVectorBytes;
  const std::uint8_t* a = unsigned_rows(p, stride, room);
  const auto* bytes = static_cast<const std::int8_t*>(p.panels);
  const auto* begins = reinterpret_cast<const std::int32_t*>(bytes + layout.begins());
  const std::int64_t groups = pieces_of(p.rows, kMostRows);
  alignas(64) std::int32_t sums[kMostRows * kPanelColumns];
  for (std::int64_t panel = begin; panel < end; ++panel) {
    const std::int64_t first = panel * kPanelColumns;
    const std::int64_t vectors = layout.vectors_of(panel);
    const std::int64_t lanes = std::min(kLanes, p.columns - first - (vectors - 1) * kLanes);
    // The next panel comes nearer while the rows go through this one, a part of it with each group.
    const std::int8_t* next = bytes + layout.panel(std::min(panel + 1, end - 1));
    std::int64_t row = 0;
    for (std::int64_t group = 0; group < groups; ++group) {
      const std::int64_t count = p.rows / groups + (group < p.rows % groups ? 1 : 0);
      Out* out = p.out + row * p.out_stride + first;
      Block block = {.a = a + row * stride,
                     .a_stride = stride,
                     .panel = bytes + layout.panel(panel),
                     .ahead = next + group % vectors * layout.quads * kVectorBytes,
                     .begins = begins + first,
                     .quads = layout.quads,
                     .out = sums,
                     .out_stride = kPanelColumns,
                     .last_lanes = static_cast<std::uint16_t>((1U << lanes) - 1)};
      const MultiplyBlock multiply =
          kBlocks[static_cast<std::size_t>(vectors - 1)][static_cast<std::size_t>(count - 1)];
      if constexpr (std::is_same_v<Out, float>) {
        multiply(block);
        write_scaled(block, count, vectors, scale_from(p.scale, row, first), out, p.out_stride);
      } else {
        block.out = out;
        block.out_stride = p.out_stride;
        multiply(block);
      }
      row += count;
    }
  }
}

#else

template <typename Out>
void multiply_panels(const PanelProduct<Out>& /*p*/, std::int64_t /*begin*/, std::int64_t /*end*/) {}

#endif

bool rows_are_worth_sharing(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  constexpr std::int64_t kBytesNearACore = 1 << 18;
  const std::int64_t rows_each = rows / num_threads();
  return rows_each >= (columns * depth <= kBytesNearACore ? kMostRows : 4 * kMostRows);
}

template <typename Out>
void share_panels(const PanelProduct<Out>& p) {
  constexpr std::int64_t kGrain = 1 << 20;  // products that a thread is worth waking for
  const std::int64_t work = p.rows * p.depth * kPanelColumns;
  parallel_for(num_panels(p.columns), 1 + kGrain / work,
               [&](std::int64_t begin, std::int64_t end) { multiply_panels(p, begin, end); });
}

void gemm_in_panels(const Gemm<std::int8_t, std::int32_t>& product) {
  const PanelProduct<std::int32_t> whole = {.rows = product.rows,
                                            .columns = product.columns,
                                            .depth = product.depth,
                                            .a = product.a.data,
                                            .a_stride = product.a.stride,
                                            .panels = product.packed_b->content().bytes.data(),
                                            .out = product.out,
                                            .out_stride = product.out_stride};
  if (!rows_are_worth_sharing(whole.rows, whole.columns, whole.depth)) return share_panels(whole);
  parallel_for(whole.rows, kMostRows, [&](std::int64_t begin, std::int64_t end) {
    PanelProduct<std::int32_t> part = whole;
    part.rows = end - begin;
    part.a += begin * whole.a_stride;
    part.out += begin * whole.out_stride;
    multiply_panels(part, 0, num_panels(whole.columns));
  });
}

template void multiply_panels(const PanelProduct<std::int32_t>&, std::int64_t, std::int64_t);
template void multiply_panels(const PanelProduct<float>&, std::int64_t, std::int64_t);
template void share_panels(const PanelProduct<float>&);

}  // namespace edgewise::kernels::cpu
