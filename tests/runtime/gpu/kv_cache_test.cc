// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/gpu/kv_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace edgewise {
namespace {

std::vector<NodeIndex> entries_of_row(const EntryLists& lists, std::size_t row) {
  return {lists.entries.begin() + lists.row_begin[row], lists.entries.begin() + lists.row_begin[row + 1]};
}

TEST(GpuCacheIndex, ListsTheEntriesOfAncestorsAndInputs) {
  GpuCacheIndex index;
  index.add_inputs(std::vector<std::int64_t>{0, 1}, std::vector<Tokens>{{4, 5, 6}, {7}});
  const std::vector<NodeIndex> inputs = index.rows();
  ASSERT_EQ(inputs.size(), 4u);
  index.add_nodes(std::vector<NewNode>{{0, HypothesisTree::kRoot, 2}, {1, HypothesisTree::kRoot, 2}});
  const std::vector<NodeIndex> roots = index.rows();
  index.add_nodes(std::vector<NewNode>{{0, 0, 8}, {1, 0, 9}, {0, 1, 9}});

  EXPECT_EQ(index.tokens(), (std::vector<std::int64_t>{8, 9, 9}));
  EXPECT_EQ(index.positions(), (std::vector<std::int64_t>{1, 1, 2}));
  const std::vector<NodeIndex>& rows = index.rows();
  EXPECT_EQ(entries_of_row(index.ancestors(), 0), (std::vector{roots[0], rows[0]}));
  EXPECT_EQ(entries_of_row(index.ancestors(), 1), (std::vector{roots[1], rows[1]}));
  EXPECT_EQ(entries_of_row(index.ancestors(), 2), (std::vector{roots[0], rows[0], rows[2]}));
  EXPECT_EQ(entries_of_row(index.inputs(), 0), (std::vector{inputs[0], inputs[1], inputs[2]}));
  EXPECT_EQ(entries_of_row(index.inputs(), 1), (std::vector{inputs[3]}));
}

TEST(GpuCacheIndex, ReusesTheEntriesOfReplacedSentences) {
  GpuCacheIndex index;
  const Tokens input(20, 4);
  for (int sentence = 0; sentence < 50; ++sentence) {
    index.add_inputs(std::vector<std::int64_t>{0, 1}, std::vector<Tokens>{input, input});
    std::set<NodeIndex> entries(index.rows().begin(), index.rows().end());
    EXPECT_EQ(entries.size(), 40u);
    EXPECT_LT(*entries.rbegin(), index.num_input_entries());
    for (NodeIndex parent = HypothesisTree::kRoot; parent < 20; ++parent) {
      index.add_nodes(std::vector<NewNode>{{0, parent, 2}, {1, parent, 2}});
      EXPECT_NE(index.rows()[0], index.rows()[1]);
      EXPECT_LT(index.rows()[1], index.num_node_entries());
    }
  }
  EXPECT_EQ(index.num_input_entries(), 4 * BlockShape::kTokens);
  EXPECT_EQ(index.num_node_entries(), 4 * BlockShape::kTokens);
}

TEST(KeyValuePool, KeepsItsEntriesWhenItGrows) {
  constexpr std::int64_t kLayers = 2;
  constexpr std::int64_t kWidth = 8;
  const GpuStream stream;
  KeyValuePool<float> pool(kLayers, kWidth);
  pool.reserve(3, stream);
  HostArray<float> row;
  const auto offset = [&](std::int64_t plane) {
    return plane % 2 == 0 ? pool.key_offset(plane / 2) : pool.value_offset(plane / 2);
  };
  for (std::int64_t plane = 0; plane < 2 * kLayers; ++plane) {
    std::fill_n(row.allocate(kWidth, stream), kWidth, static_cast<float>(plane));
    device::begin_copy(pool.entry(2) + offset(plane), row.data(), kWidth * sizeof(float), stream);
    device::wait_for(stream);
  }
  pool.reserve(4, stream);
  EXPECT_GE(pool.num_entries(), 4);
  for (std::int64_t plane = 0; plane < 2 * kLayers; ++plane) {
    begin_copy_to_host(pool.entry(2) + offset(plane), kWidth, row, stream);
    device::wait_for(stream);
    EXPECT_EQ(std::vector<float>(row.data(), row.data() + kWidth),
              std::vector<float>(kWidth, static_cast<float>(plane)));
  }
}

}  // namespace
}  // namespace edgewise
