// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/flat_parameters.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/distributed/process_threads.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

at::Tensor trained(const at::Tensor& values) { return values.clone().set_requires_grad(true); }

TEST(FlatParameters, AreViewsOfOneArrayWithTheirValues) {
  const at::Tensor matrix = trained(at::arange(21, at::kFloat).view({3, 7}));
  const at::Tensor scalar = trained(at::full({}, 5.0F));
  const FlatParameters flat({{"matrix", matrix}, {"scalar", scalar}}, 2);
  EXPECT_TRUE(matrix.equal(at::arange(21, at::kFloat).view({3, 7})));
  EXPECT_EQ(scalar.item<float>(), 5.0F);

  const at::NoGradGuard no_gradients;
  flat.values().add_(1);
  EXPECT_EQ(scalar.item<float>(), 6.0F);
  matrix.fill_(2.0F);
  EXPECT_EQ(flat.values()[20].item<float>(), 2.0F);
  flat.gradients().fill_(3.0F);
  EXPECT_TRUE(matrix.grad().equal(at::full({3, 7}, 3.0F)));
}

RC_GTEST_PROP(FlatParameters, HaveAlignedPiecesThatCoverTheArrayOnce, ()) {
  const auto pieces = std::int64_t{1} << *rc::gen::inRange(0, 5);
  std::vector<NamedTensor> named;
  const auto sizes = *rc::gen::container<std::vector<std::int64_t>>(
      *rc::gen::inRange<std::size_t>(1, 6),
      rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 70), rc::gen::inRange<std::int64_t>(1'000'000, 1'100'000)));
  for (const std::int64_t size : sizes) named.push_back({"x", trained(at::ones({size}))});
  const FlatParameters flat(named, pieces);

  std::vector<FlatRange> ranges;
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    for (const FlatRange& range : flat.pieces_of(piece, 1)) ranges.push_back(range);
  }
  std::ranges::sort(ranges, {}, &FlatRange::begin);
  std::int64_t end = 0;
  for (const FlatRange& range : ranges) {
    RC_ASSERT(range.begin == end);
    RC_ASSERT(range.begin % 16 == 0);
    end = range.end();
  }
  RC_ASSERT(end == flat.size());
  for (const FlatParameter& parameter : flat.parameters()) {
    RC_ASSERT(parameter.range.begin % 16 == 0);
    RC_ASSERT(flat.begin_of(parameter.named.tensor) == parameter.range.begin);
  }
  RC_ASSERT(flat.values().sum(at::kDouble).item<double>() ==
            static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0})));
}

TEST(JoinNeighbours, JoinsRangesWithoutAGap) {
  const std::vector<FlatRange> joined = join_neighbours({{0, 16}, {16, 32}, {64, 16}, {80, 16}});
  ASSERT_EQ(joined.size(), 2U);
  EXPECT_EQ(joined[0].begin, 0);
  EXPECT_EQ(joined[0].count, 48);
  EXPECT_EQ(joined[1].begin, 64);
  EXPECT_EQ(joined[1].count, 32);
  EXPECT_TRUE(join_neighbours({}).empty());
}

TEST(FlatParameters, NeedLeavesOfOneTypeThatRequireGradients) {
  EXPECT_EQ(error_of([] {
              FlatParameters({{"gain", at::ones({2})}}, 1);
            }),
            "FlatParameters: parameter \"gain\" takes no gradient, needs a leaf that requires one");
  EXPECT_EQ(error_of([] {
              FlatParameters({{"a", trained(at::ones({2}))}, {"b", trained(at::ones({2}, at::kDouble))}}, 1);
            }),
            "FlatParameters: parameter \"b\" is Double, needs to be contiguous and Float like the others");
  EXPECT_EQ(error_of([] { FlatParameters({}, 1); }),
            "FlatParameters: 0 parameters have 1 pieces, needs at least one of each");
}

TEST(OwnedPieces, AreGatheredAndScatteredByTheFirstProcess) {
  for (const std::int64_t size : {1, 2, 4}) {
    run_as_processes(size, [&](ProcessGroup& processes) {
      const at::Tensor parameter = trained(at::zeros({(1 << 20) + 100}));
      const at::Tensor other = trained(at::zeros({50}));
      const FlatParameters flat({{"x", parameter}, {"y", other}}, 4);
      const OwnedPieces pieces(flat, processes);
      const bool is_first = processes.rank() == 0;
      const at::Tensor whole = is_first ? at::arange(flat.size(), at::kFloat) : at::Tensor();
      const at::Tensor owned = pieces.make_array();
      pieces.scatter(whole, owned);
      EXPECT_EQ(owned.numel(), flat.size() / size);
      for (std::size_t bucket = 0; bucket < flat.buckets().size(); ++bucket) {
        EXPECT_EQ(pieces.part_of(owned, bucket)[0].item<float>(), static_cast<float>(pieces.ranges()[bucket].begin));
      }
      const at::Tensor gathered = pieces.gather(owned);
      EXPECT_EQ(gathered.defined(), is_first);
      if (is_first) {
        EXPECT_TRUE(gathered.equal(whole));
      }
    });
  }
}

TEST(OwnedPieces, AreSharedWithAllProcesses) {
  run_as_processes(4, [](ProcessGroup& processes) {
    const at::Tensor parameter = trained(at::zeros({100}));
    const FlatParameters flat({{"x", parameter}}, 4);
    const OwnedPieces pieces(flat, processes);
    take_range(flat.values(), pieces.ranges()[0]).fill_(static_cast<float>(processes.rank()));
    pieces.share(flat.values());
    EXPECT_TRUE(flat.values().equal(at::arange(4, at::kFloat).repeat_interleave(flat.size() / 4)));
  });
}

}  // namespace
}  // namespace edgewise
