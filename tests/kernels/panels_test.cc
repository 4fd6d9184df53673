// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gemm/panels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/kernels/simd/scratch.h"
#include "tests/kernels/instruction_sets.h"

namespace edgewise::kernels {
namespace {

struct Sizes {
  std::int64_t rows, columns, depth;
};

// Sizes around groups of rows, vectors, panels, and the depth that one instruction multiplies.
constexpr Sizes kAllSizes[] = {{1, 1, 1},    {2, 15, 3},   {3, 17, 64}, {4, 33, 2},  {6, 64, 31},
                               {7, 100, 50}, {20, 65, 97}, {1, 200, 9}, {13, 96, 1}, {5, 7, 0}};

template <typename T>
constexpr bool kIsInt8 = std::is_same_v<T, std::int8_t>;

/// The operands of a product, and their scales and bias.
template <typename T>
struct Operands {
  using Stored = std::conditional_t<kIsInt8<T>, std::int8_t, float>;

  explicit Operands(const Sizes& of)
      : sizes(of),
        a(draw<T>(of.rows * of.depth)),
        b(draw<Stored>(of.columns * of.depth)),
        row_scales(draw<float>(of.rows)),
        column_scales(draw<float>(of.columns)),
        bias(draw<float>(of.columns)) {}

  template <typename U>
  std::vector<U> draw(std::int64_t count) {
    std::vector<U> values;
    for (std::int64_t i = 0; i < count; ++i) {
      if constexpr (kIsInt8<U>) {
        values.push_back(static_cast<U>(static_cast<std::int64_t>(random.next_below(255)) - 127));
      } else {
        values.push_back(U(static_cast<float>(random.normal())));
      }
    }
    return values;
  }

  RandomStream random{/*seed=*/5};
  Sizes sizes;
  std::vector<T> a;       // [M, K]
  std::vector<Stored> b;  // [N, K]
  std::vector<float> row_scales, column_scales, bias;
};

/// Multiplies rows [first_row, M), `step` panels at a time, by multiply(product, begin, end).
template <typename T, class Multiply>
std::vector<float> run(const Operands<T>& operands, PanelFormat format, const Multiply& multiply,
                       std::int64_t first_row = 0, std::int64_t step = 1'000'000) {
  const auto& [rows, columns, depth] = operands.sizes;
  AlignedBuffer panels;
  pack_panels<T>(format, Matrix<typename Operands<T>::Stored>{operands.b.data(), depth, MatrixLayout::kColumns}, depth,
                 columns, panels.reserve_bytes(count_panel_bytes<T>(format, depth, columns)));
  std::vector<float> out(static_cast<std::size_t>((rows - first_row) * columns), std::nanf(""));
  const PanelProduct<T> product = {
      .rows = rows - first_row,
      .columns = columns,
      .depth = depth,
      .a = operands.a.data() + first_row * depth,
      .a_stride = depth,
      .format = format,
      .panels = panels.data(),
      .epilogue = {.row_scales = kIsInt8<T> ? operands.row_scales.data() + first_row : nullptr,
                   .column_scales = kIsInt8<T> ? operands.column_scales.data() : nullptr,
                   .bias = operands.bias.data()},
      .out = out.data(),
      .out_stride = columns};
  const std::int64_t panel_count = count_panels(format, columns);
  for (std::int64_t panel = 0; panel < panel_count; panel += step) {
    multiply(product, panel, std::min(panel_count, panel + step));
  }
  return out;
}

template <typename T>
class PanelsOf : public testing::Test {};
using AllTypes = testing::Types<float, BFloat16, std::int8_t>;
TYPED_TEST_SUITE(PanelsOf, AllTypes);

TYPED_TEST(PanelsOf, MatchTheReferenceOnEveryInstructionSet) {
  using T = TypeParam;
  for_instruction_sets([] {
    for (const Sizes& sizes : kAllSizes) {
      const Operands<T> operands(sizes);
      const auto expected = run(operands, PanelFormat::kNarrow, reference::multiply_panels<T>);
      const auto narrow = run(operands, PanelFormat::kNarrow, cpu::multiply_narrow_panels<T>);
      const auto fastest = run(operands, choose_panel_format<T>(), multiply_panels<T>);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const float tolerance =
            kIsInt8<T> ? 1e-6f * std::abs(expected[i]) + 1e-3f : 1e-6f * static_cast<float>(sizes.depth + 1);
        ASSERT_NEAR(narrow[i], expected[i], tolerance);
        ASSERT_NEAR(fastest[i], expected[i], tolerance);
      }
    }
  });
}

TYPED_TEST(PanelsOf, GiveAnElementTheSameBitsInAnyGroupOfRowsAndOfPanels) {
  using T = TypeParam;
  for (const InstructionSet set : runnable_instruction_sets()) {
    SCOPED_TRACE(instruction_set_name(set));
    const ForcedInstructionSet forced(set);
    const Operands<T> operands({23, 300, 77});
    for (const PanelFormat format : {PanelFormat::kNarrow, choose_panel_format<T>()}) {
      const auto all = run(operands, format, multiply_panels<T>);
      for (std::int64_t first_row = 0; first_row < 23; ++first_row) {
        for (const std::int64_t step : {1, 2, 3, 7}) {
          const auto some = run(operands, format, multiply_panels<T>, first_row, step);
          ASSERT_TRUE(std::equal(some.begin(), some.end(), all.begin() + first_row * 300))
              << "from row " << first_row << " on, " << step << " panels at a time";
        }
      }
    }
  }
}

TEST(PanelsOfInt8, AddUpExactlyEvenTheLargestNumbers) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    SCOPED_TRACE(instruction_set_name(set));
    const ForcedInstructionSet forced(set);
    Operands<std::int8_t> operands({7, 67, 1001});  // sums of at most 2^24 in magnitude, which floats represent
    for (std::size_t i = 0; i < operands.a.size(); ++i) operands.a[i] = i / 1001 % 2 == 0 ? 127 : -128;
    for (std::size_t i = 0; i < operands.b.size(); ++i) {
      if (i / 1001 % 3 != 2) operands.b[i] = i / 1001 % 3 == 0 ? 127 : -127;
    }
    for (auto* factors : {&operands.row_scales, &operands.column_scales}) std::ranges::fill(*factors, 1.0f);
    std::ranges::fill(operands.bias, 0.0f);

    for (const PanelFormat format : {PanelFormat::kNarrow, choose_panel_format<std::int8_t>()}) {
      const auto actual = run(operands, format, multiply_panels<std::int8_t>);
      for (std::int64_t m = 0; m < 7; ++m) {
        for (std::int64_t n = 0; n < 67; ++n) {
          std::int64_t sum = 0;
          for (std::int64_t k = 0; k < 1001; ++k) sum += operands.a[m * 1001 + k] * operands.b[n * 1001 + k];
          ASSERT_EQ(actual[m * 67 + n], static_cast<float>(sum)) << "at [" << m << ", " << n << "]";
        }
      }
    }
  }
}

}  // namespace
}  // namespace edgewise::kernels
