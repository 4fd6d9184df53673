// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/message/row_broadcast.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/error_of.h"

namespace edgewise::kernels {
namespace {

using Sizes = std::vector<std::int64_t>;

TEST(RowBroadcast, MergesDimensionsOfOneKind) {
  const RowBroadcast b = broadcast_rows(Sizes{2, 3, 4}, Sizes{2, 3, 4}, Sizes{2, 3, 4});

  EXPECT_EQ(b.size, 24);
  EXPECT_EQ(b.run_length, 24);
  EXPECT_EQ(b.runs.size(), 1u);
  EXPECT_EQ(b.left_reading(), RowReading::kWhole);
}

TEST(RowBroadcast, RepeatsAnOperandInRuns) {
  const RowBroadcast b = broadcast_rows(Sizes{2, 3, 4}, Sizes{2, 3, 1}, Sizes{2, 3, 4});

  EXPECT_EQ(b.run_length, 4);
  EXPECT_EQ(b.right_size, 6);
  EXPECT_EQ(b.right_reading(), RowReading::kRepeated);
  ASSERT_EQ(b.runs.size(), 6u);
  for (std::int64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(b.runs[i].left, 4 * i);
    EXPECT_EQ(b.runs[i].right, i);
    EXPECT_EQ(b.runs[i].out, 4 * i);
  }
}

TEST(RowBroadcast, SumsTheDimensionsOfSizeOneOfTheOutput) {
  const RowBroadcast dot = broadcast_rows(Sizes{3, 4}, Sizes{3, 4}, Sizes{3, 1});
  const RowBroadcast outer = broadcast_rows(Sizes{3, 4}, Sizes{}, Sizes{1, 4});

  EXPECT_EQ(dot.out_reading(), RowReading::kRepeated);
  EXPECT_EQ(dot.out_size, 3);
  EXPECT_EQ(outer.out_reading(), RowReading::kRuns);
  ASSERT_EQ(outer.runs.size(), 3u);
  EXPECT_EQ(outer.runs[2].left, 8);
  EXPECT_EQ(outer.runs[2].out, 0);
}

TEST(RowBroadcast, AlignsMissingDimensionsInFront) {
  const RowBroadcast b = broadcast_rows(Sizes{4}, Sizes{3, 1}, Sizes{3, 4});

  EXPECT_EQ(b.left_reading(), RowReading::kRuns);
  EXPECT_EQ(b.right_reading(), RowReading::kRepeated);
  EXPECT_EQ(b.swapped().left_reading(), RowReading::kRepeated);
}

TEST(RowBroadcast, NamesSizesThatDoNotAlign) {
  EXPECT_EQ(error_of([] {
              broadcast_rows(Sizes{3, 4}, Sizes{3, 5}, Sizes{3, 4});
            }),
            "broadcast_rows: dimension 0 from the last has the sizes 5 and 4, needs one size or 1");
}

}  // namespace
}  // namespace edgewise::kernels
