// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/scatter_rows.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/kernels/implementations.h"
#include "tests/kernels/random_numbers.h"

namespace edgewise::kernels {
namespace {

template <typename T>
class ScatterRowsOf : public testing::Test {};
using Elements = testing::Types<float, BFloat16>;
TYPED_TEST_SUITE(ScatterRowsOf, Elements);

/// Returns where five rows are written, in another order than their own.
template <typename T>
std::vector<T*> rows_of(T* memory, std::int64_t row_memory) {
  std::vector<T*> rows;
  for (const std::int64_t slot : {3, 0, 4, 1, 2}) rows.push_back(memory + slot * row_memory);
  return rows;
}

TYPED_TEST(ScatterRowsOf, GivesTheBitsOfTheReferenceAndWritesNothingElse) {
  constexpr std::int64_t kRows = 5;
  constexpr std::int64_t kRowMemory = 700;
  struct Shape {
    std::int64_t columns, stride, offset;
  };
  for (const Shape shape : {Shape{1, 600, 9},
                            {15, 90, 9},
                            {16, 90, 9},
                            {33, 600, 8},
                            {64, 600, 12},
                            {90, 90, 9},
                            {516, 516, 4},
                            {516, 517, 4},
                            {520, 600, 3}}) {
    const std::vector<float> from = normal_numbers<float>(kRows * shape.stride, 8);
    const Array<float> from_buffer(from);
    std::vector<TypeParam> expected = HostBuffer<TypeParam>(kRows * kRowMemory).read();
    const std::vector<TypeParam*> expected_to = rows_of(expected.data(), kRowMemory);
    const auto arguments = [&](const float* from_row, TypeParam* const* to_rows) {
      return ScatterRows<TypeParam>{.rows = kRows,
                                    .columns = shape.columns,
                                    .from = from_row,
                                    .stride = shape.stride,
                                    .to = to_rows,
                                    .offset = shape.offset};
    };
    reference::scatter_rows(arguments(from.data(), expected_to.data()));

    for_implementations([&] {
      Array<TypeParam> memory(kRows * kRowMemory);
      const Array<TypeParam*> to(rows_of(memory.data(), kRowMemory));
      call_kernel([&](auto... stream) { scatter_rows(arguments(from_buffer.data(), to.data()), stream...); });
      ASSERT_TRUE(has_same_bits(memory.read(), expected)) << shape.columns << " columns at " << shape.offset;
    });
  }
}

TYPED_TEST(ScatterRowsOf, MayBeNone) {
  for_implementations([] {
    const ScatterRows<TypeParam> none = {0, 4, nullptr, 4, nullptr, 0};
    EXPECT_NO_THROW(call_kernel([&](auto... stream) { scatter_rows(none, stream...); }));
  });
}

}  // namespace
}  // namespace edgewise::kernels
