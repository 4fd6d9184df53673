// SPDX-License-Identifier: Apache-2.0
// Products with panels of 16 columns. A micro-kernel computes the sums of up to 6 rows and of one or several panels in
// registers. Few rows are multiplied with several panels at a time, so that there are enough independent sums: an
// addition to a sum waits for the one before. Factors are converted without rounding: bf16 to float, and 8 bits to 16
// bits, whose products are added in pairs in 32 bits.
#include <array>
#include <cstring>
#include <limits>
#include <utility>
#include <variant>

#include "edgewise/kernels/gemm/panels.h"
#include "edgewise/kernels/simd/scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/gemm/panels_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

/// HWY_EXPORT exports no templates, so a variant holds the types.
using AnyPanelProduct = std::variant<PanelProduct<float>, PanelProduct<BFloat16>, PanelProduct<std::int8_t>>;

using IntTag = hn::RebindToSigned<FloatTag>;
using Ints = hn::Vec<IntTag>;

constexpr int kVectors = static_cast<int>(kPanelLanes / kLanes);  // vector registers of a panel
constexpr int kMaxPanels = 4;                                     // panels that are multiplied at a time
constexpr std::int64_t kMaxColumns = kMaxPanels * kPanelLanes;

/// Sums of products of floats.
struct FloatSums {
  using Left = float;
  using Right = Floats;

  void set_zero() { sums = hn::Zero(FloatTag()); }
  HWY_INLINE void add_product(Floats left, Floats right) { sums = hn::MulAdd(left, right, sums); }
  static Floats broadcast(const float* from) { return hn::Set(FloatTag(), *from); }
  static Floats load_right(const float* from) { return load(AllLanes(), from); }
  static Floats load_right(const BFloat16* from) { return load(AllLanes(), from); }
  void write(float* to) const { hn::Store(sums, FloatTag(), to); }

  Floats sums;
};

/// Sums of pairs of products of 16-bit integers.
#if HWY_TARGET == HWY_SCALAR
struct PairSums {
  using Left = std::int16_t;
  struct Right {
    std::int32_t first, second;
  };

  void set_zero() { sum = 0; }
  void add_product(const Right& left, const Right& right) {
    sum += left.first * right.first + left.second * right.second;
  }
  static Right broadcast(const std::int16_t* from) { return {from[0], from[1]}; }
  static Right load_right(const std::int8_t* from) { return {from[0], from[1]}; }
  void write(std::int32_t* to) const { *to = sum; }

  std::int32_t sum;
};
#else
using PairTag = hn::Repartition<std::int16_t, FloatTag>;  // pairs of 16 bits in the lanes of IntTag
using Pairs = hn::Vec<PairTag>;

struct PairSums {
  using Left = std::int16_t;
  using Right = Pairs;

  void set_zero() { sums = more_sums = hn::Zero(IntTag()); }
  HWY_INLINE void add_product(Pairs left, Pairs right) {
    sums = hn::ReorderWidenMulAccumulate(IntTag(), left, right, sums, more_sums);
  }
  static Pairs broadcast(const std::int16_t* from) {
    std::int32_t pair = 0;
    std::memcpy(&pair, from, sizeof(pair));
    return hn::BitCast(PairTag(), hn::Set(IntTag(), pair));
  }
  static Pairs load_right(const std::int8_t* from) {
    return hn::PromoteTo(PairTag(), hn::LoadU(hn::Rebind<std::int8_t, PairTag>(), from));
  }
  void write(std::int32_t* to) const { hn::Store(hn::RearrangeToOddPlusEven(sums, more_sums), IntTag(), to); }

  // Some instruction sets add the products of a pair to two vectors; others leave the second one zero.
  Ints sums, more_sums;
};
#endif

template <typename T>
using Sums = std::conditional_t<std::is_same_v<T, std::int8_t>, PairSums, FloatSums>;
template <typename T>
using SumElement = std::conditional_t<std::is_same_v<T, std::int8_t>, std::int32_t, float>;

/// Elements of a step of the depth.
template <typename T>
constexpr std::int64_t kStep = panel_step_size<T>(PanelFormat::kNarrow);
/// Elements of a panel in one step of the depth.
template <typename T>
constexpr std::int64_t kPanelStep = kPanelLanes* kStep<T>;

/// Returns how many panels a micro-kernel multiplies at a time: as many as the registers allow.
constexpr int choose_panels(int rows) {
  constexpr int kSumRegisters = HWY_TARGET == HWY_AVX2 ? 12 : 24;  // AVX2 has 16 registers, AVX-512 and NEON 32
  return std::clamp(kSumRegisters / (rows * kVectors), 1, kMaxPanels);
}

/// The arguments of a micro-kernel.
template <typename T>
struct NarrowKernelArguments {
  const typename Sums<T>::Left* a;  // [rows, steps, elements of a step]
  std::int64_t a_stride;            // elements
  const T* panel;                   // [panels, steps, 16, elements of a step]
  std::int64_t panel_stride;        // elements
  const T* prefetch;                // memory to prefetch into the second-level cache: one cache line per step
  std::int64_t steps;
  SumElement<T>* sums;  // [rows, kMaxPanels * 16]
};

/// The loops are in a single function, so that all sums stay in registers.
template <typename T, int kRows, int kPanels>
void multiply_block(const NarrowKernelArguments<T>& p) {
  constexpr int kColumns = kPanels * kVectors;
  Sums<T> sums[kRows][kColumns];
#pragma GCC unroll 8
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 16
    for (int n = 0; n < kColumns; ++n) sums[m][n].set_zero();
  }
  const auto* a = p.a;
  const T* panel = p.panel;
  const T* prefetch = p.prefetch;
  for (std::int64_t step = 0; step < p.steps; ++step) {
    __builtin_prefetch(prefetch, /*rw=*/0, /*locality=*/2);
    typename Sums<T>::Right right[kColumns];
#pragma GCC unroll 16
    for (int n = 0; n < kColumns; ++n) {
      right[n] = Sums<T>::load_right(panel + n / kVectors * p.panel_stride + n % kVectors * (kPanelStep<T> / kVectors));
    }
#pragma GCC unroll 8
    for (int m = 0; m < kRows; ++m) {
      const auto left = Sums<T>::broadcast(a + m * p.a_stride);
#pragma GCC unroll 16
      for (int n = 0; n < kColumns; ++n) sums[m][n].add_product(left, right[n]);
    }
    a += kStep<T>;
    panel += kPanelStep<T>;
    prefetch += kPanelStep<T>;
  }
#pragma GCC unroll 8
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 16
    for (int n = 0; n < kColumns; ++n) sums[m][n].write(p.sums + m * kMaxColumns + n * kLanes);
  }
}

template <typename T>
using MicroKernel = void (*)(const NarrowKernelArguments<T>&);

/// The micro-kernels for one number of rows.
template <typename T>
struct RowKernels {
  MicroKernel<T> one_panel;
  MicroKernel<T> several_panels;  // choose_panels(rows) of them
};

template <typename T, int... kRowsMinusOne>
constexpr auto list_kernels(std::integer_sequence<int, kRowsMinusOne...> /*rows*/) {
  return std::array<RowKernels<T>, kPanelRows>{
      RowKernels<T>{&multiply_block<T, kRowsMinusOne + 1, 1>,
                    &multiply_block<T, kRowsMinusOne + 1, choose_panels(kRowsMinusOne + 1)>}...};
}

/// Multiplies `rows` rows with `panels` panels.
template <typename T>
void multiply_blocks(NarrowKernelArguments<T> arguments, std::int64_t rows, std::int64_t panels) {
  static constexpr auto kKernels = list_kernels<T>(std::make_integer_sequence<int, kPanelRows>());
  const RowKernels<T>& kernels = kKernels[static_cast<std::size_t>(rows - 1)];
  if (panels == choose_panels(static_cast<int>(rows))) return kernels.several_panels(arguments);
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    kernels.one_panel(arguments);
    arguments.panel += arguments.panel_stride;
    arguments.prefetch += arguments.panel_stride;
    arguments.sums += kPanelLanes;
  }
}

template <class Part>
HWY_INLINE Floats finish_sums(Part part, const float* sums, const OutputBlock& to, std::int64_t m, std::int64_t n) {
  const Floats values = hn::Load(FloatTag(), sums + m * kMaxColumns + n);
  return to.epilogue.bias == nullptr ? values : hn::Add(values, load(part, to.epilogue.bias + n));
}

template <class Part>
HWY_INLINE Floats finish_sums(Part part, const std::int32_t* sums, const OutputBlock& to, std::int64_t m,
                              std::int64_t n) {
  const FloatTag d;
  const Floats values = hn::ConvertTo(d, hn::Load(IntTag(), sums + m * kMaxColumns + n));
  const Floats scale = hn::Mul(load(part, to.epilogue.column_scales + n), hn::Set(d, to.epilogue.row_scales[m]));
  return hn::MulAdd(values, scale, to.epilogue.bias == nullptr ? hn::Zero(d) : load(part, to.epilogue.bias + n));
}

template <typename Sum>
void write_values(const Sum* sums, const OutputBlock& to) {
  const Floats lowest = hn::Set(FloatTag(), to.epilogue.is_relu ? 0.0f : -std::numeric_limits<float>::infinity());
  for (std::int64_t m = 0; m < to.rows; ++m) {
    for_each_vector(to.columns, [&](std::int64_t n, auto part) HWY_ATTR {
      store(part, hn::Max(finish_sums(part, sums, to, m, n), lowest), to.out + m * to.stride + n);
    });
  }
}

/// The rows of the left side, as micro-kernels need them.
template <typename Left>
struct NarrowLeftSide {
  const Left* rows;
  std::int64_t stride;  // elements
};

NarrowLeftSide<float> prepare_left_side(const PanelProduct<float>& p, AlignedBuffer& /*buffer*/) {
  return {p.a, p.a_stride};
}

NarrowLeftSide<float> prepare_left_side(const PanelProduct<BFloat16>& p, AlignedBuffer& buffer) {
  auto* rows = buffer.elements<float>(p.rows * p.depth);
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const BFloat16* from = p.a + row * p.a_stride;
    for_each_vector(p.depth, [&](std::int64_t k, auto part)
                                 HWY_ATTR { store(part, load(part, from + k), rows + row * p.depth + k); });
  }
  return {rows, p.depth};
}

/// Converts the rows to 16 bits and appends a zero to each if the depth is odd.
NarrowLeftSide<std::int16_t> prepare_left_side(const PanelProduct<std::int8_t>& p, AlignedBuffer& buffer) {
  const std::int64_t stride = p.depth + p.depth % 2;
  auto* rows = buffer.elements<std::int16_t>(p.rows * stride);
  for (std::int64_t row = 0; row < p.rows; ++row) {
    std::copy_n(p.a + row * p.a_stride, p.depth, rows + row * stride);
    if (stride > p.depth) rows[row * stride + p.depth] = 0;
  }
  return {rows, stride};
}

template <typename T>
void multiply(const PanelProduct<T>& p, std::int64_t begin, std::int64_t end) {
  static thread_local AlignedBuffer buffer;
  const PanelLayout<T> layout(PanelFormat::kNarrow, p.depth, p.columns);
  const auto a = prepare_left_side(p, buffer);
  const auto* panels = static_cast<const T*>(p.panels);
  const std::int64_t panel_stride = layout.steps() * kPanelStep<T>;
  HWY_ALIGN SumElement<T> sums[kPanelRows * kMaxColumns];
  const std::int64_t largest_group = divide_up(p.rows, divide_up(p.rows, kPanelRows));
  const std::int64_t panels_at_once = choose_panels(static_cast<int>(largest_group));
  for (std::int64_t panel = begin; panel < end; panel += panels_at_once) {
    const std::int64_t count = std::min(panels_at_once, end - panel);
    const std::int64_t first = panel * kPanelLanes;
    const std::int64_t next = std::min(panel + count, end - 1);
    for_row_groups(p.rows, [&](std::int64_t row, std::int64_t rows) {
      // If every group of rows prefetched the next panels, their loads would delay those of this panel.
      const std::int64_t prefetched = row == 0 ? next : panel;
      multiply_blocks<T>({.a = a.rows + row * a.stride,
                          .a_stride = a.stride,
                          .panel = panels + panel * panel_stride,
                          .panel_stride = panel_stride,
                          .prefetch = panels + prefetched * panel_stride,
                          .steps = layout.steps(),
                          .sums = sums},
                         rows, count);
      write_values(sums, {.rows = rows,
                          .columns = std::min(count * kPanelLanes, p.columns - first),
                          .epilogue = slice_epilogue(p.epilogue, row, first),
                          .out = p.out + row * p.out_stride + first,
                          .stride = p.out_stride});
    });
  }
}

void multiply_panel_range(const AnyPanelProduct& any, std::int64_t begin, std::int64_t end) {
  std::visit([=](const auto& p) HWY_ATTR { multiply(p, begin, end); }, any);
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels {

HWY_EXPORT(multiply_panel_range);

template <typename T>
void cpu::multiply_narrow_panels(const PanelProduct<T>& p, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(multiply_panel_range)(p, begin, end);
}

template void cpu::multiply_narrow_panels(const PanelProduct<float>&, std::int64_t, std::int64_t);
template void cpu::multiply_narrow_panels(const PanelProduct<BFloat16>&, std::int64_t, std::int64_t);
template void cpu::multiply_narrow_panels(const PanelProduct<std::int8_t>&, std::int64_t, std::int64_t);

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
