// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/rotary/rotate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "edgewise/kernels/simd/instruction_set.h"
#include "tests/kernels/not_written.h"
#include "tests/kernels/random_numbers.h"

namespace edgewise::kernels {
namespace {

constexpr std::int64_t kPositions = 9;

/// Returns a table of kPositions rows: the sines of any angles, and their cosines.
std::vector<float> random_table(std::int64_t head_size) {
  const std::vector<float> angles = normal_numbers<float>(kPositions * head_size / 2, 5);
  std::vector<float> table;
  for (std::int64_t position = 0; position < kPositions; ++position) {
    const auto row = std::span(angles).subspan(position * head_size / 2, head_size / 2);
    for (const float angle : row) table.push_back(std::sin(angle));
    for (const float angle : row) table.push_back(std::cos(angle));
  }
  return table;
}

template <typename T>
void expect_near(const std::vector<T>& actual, const std::vector<T>& expected, double rounding) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double value = static_cast<float>(expected[i]);
    ASSERT_NEAR(static_cast<float>(actual[i]), value, rounding * (std::abs(value) + 0.01)) << "at " << i;
  }
}

template <typename T>
class RotateOf : public testing::Test {};
using ElementTypes = testing::Types<float, BFloat16>;
TYPED_TEST_SUITE(RotateOf, ElementTypes);

TYPED_TEST(RotateOf, MatchesTheReferenceAndTurnsBackOnEveryInstructionSet) {
  using T = TypeParam;
  const std::vector<std::int64_t> rows = {3, 0, 8, 1, 1};
  const double rounding = std::is_same_v<T, float> ? 1e-5 : 0x1p-7;
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    for (const std::int64_t head_size : {2, 4, 6, 14, 16, 18, 32, 34, 64, 80}) {
      for (const bool is_inverse : {false, true}) {
        SCOPED_TRACE(std::string(instruction_set_name(set)) + ", " + std::to_string(head_size));
        const std::vector<float> table = random_table(head_size);
        const std::vector<T> x = normal_numbers<T>(std::ssize(rows) * 3 * head_size, 1);
        auto out = not_written<T>(x.size());
        auto expected = not_written<T>(x.size());
        Rotate<T> p = {.num_nodes = std::ssize(rows),
                       .num_heads = 3,
                       .head_size = head_size,
                       .table = table.data(),
                       .rows = rows.data(),
                       .x = x.data(),
                       .out = expected.data(),
                       .is_inverse = is_inverse};
        reference::rotate(p);
        p.out = out.data();
        rotate(p);
        expect_near(out, expected, rounding);
        p.x = out.data();
        p.is_inverse = !is_inverse;
        rotate(p);
        const std::vector<float> values(x.begin(), x.end());
        for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(static_cast<float>(out[i]), values[i], 5 * rounding);
      }
    }
  }
}

TEST(RotateLanes, MatchesTheReferenceOnEveryInstructionSetAndWritesNothingElse) {
  constexpr std::int64_t kRows = 4;
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    for (const std::int64_t num_heads : {1, 2, 4, 8, 16, 32}) {
      for (const std::int64_t head_size : {2, 6, 16}) {
        const std::int64_t part_size = num_heads * (head_size + 1);  // as with padding
        const std::int64_t stride = 3 * part_size + 5;
        const std::vector<float> table = random_table(head_size);
        const std::vector<float> before = normal_numbers<float>(kRows * stride, 1);
        std::vector<float> actual = before;
        std::vector<float> expected = before;
        RotateLanes p = {.num_rows = kRows,
                         .num_parts = 2,
                         .part_size = part_size,
                         .stride = stride,
                         .num_heads = num_heads,
                         .head_size = head_size,
                         .table = table.data(),
                         .values = actual.data()};
        rotate_lanes(p);
        p.values = expected.data();
        reference::rotate_lanes(p);
        expect_near(actual, expected, 1e-5);
        for (std::int64_t i = 0; i < kRows * stride; ++i) {
          const std::int64_t in_row = i % stride;
          const bool is_turned = in_row < 2 * part_size && in_row % part_size < num_heads * head_size;
          EXPECT_EQ(actual[i] != before[i], is_turned) << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace edgewise::kernels
