// SPDX-License-Identifier: Apache-2.0
#include "edgewise/graph/builders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <set>

#include "tests/graph/relations.h"

namespace edgewise {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kBillions = 3'000'000'000;
constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

/// Returns the relation with an edge for each pair of nodes that `is_edge` accepts.
Relation by_rule(std::int64_t num_sources, std::int64_t num_destinations,
                 const std::function<bool(std::int64_t source, std::int64_t destination)>& is_edge) {
  std::vector<Edge> ends;
  for (std::int64_t d = 0; d < num_destinations; ++d) {
    for (std::int64_t s = 0; s < num_sources; ++s) {
      if (is_edge(s, d)) ends.emplace_back(s, d);
    }
  }
  return relation_of(num_sources, num_destinations, ends);
}

TEST(Builders, BuildEmptyRelationsForNoNodes) {
  EXPECT_EQ(complete(0), Relation());
  EXPECT_EQ(causal(0), Relation());
  EXPECT_EQ(bipartite(0, 0), Relation());
  EXPECT_EQ(prefix(0, {}), Relation());
  EXPECT_EQ(window(0, {.before = 1, .after = 1, .dilation = 2}), Relation());
  EXPECT_EQ(strided(0, 3), Relation());
  EXPECT_EQ(block_local(0, 3), Relation());
  EXPECT_EQ(random_relation(0, 0, 3, /*seed=*/0), Relation());
  EXPECT_EQ(from_mask(0, 0, {}), Relation());
}

RC_GTEST_PROP(Builders, ConnectEveryNodeToEveryNode, ()) {
  const auto n = *in_range(0, 8);
  const auto m = *in_range(0, 8);

  RC_ASSERT(complete(n) == by_rule(n, n, [](auto, auto) { return true; }));
  RC_ASSERT(bipartite(n, m) == by_rule(n, m, [](auto, auto) { return true; }));
  RC_ASSERT(has_intervals(complete(n)) && has_intervals(bipartite(n, m)));
}

RC_GTEST_PROP(Builders, BuildCausalRelationsFromEarlierNodesAndTheNodeItself, ()) {
  const auto n = *in_range(0, 9);

  RC_ASSERT(causal(n) == by_rule(n, n, [](auto s, auto d) { return s <= d; }));
  RC_ASSERT(has_intervals(causal(n)));
}

RC_GTEST_PROP(Builders, BuildPrefixesOfTheGivenLengths, ()) {
  const auto n = *in_range<std::int64_t>(0, 8);
  const auto lengths = *rc::gen::container<std::vector<std::int64_t>>(in_range<std::int64_t>(0, n + 1));

  RC_ASSERT(prefix(n, lengths) == by_rule(n, std::ssize(lengths), [&](auto s, auto d) { return s < lengths[d]; }));
  RC_ASSERT(has_intervals(prefix(n, lengths)));
}

RC_GTEST_PROP(Builders, BuildWindowsOfDilatedSteps, ()) {
  const auto n = *in_range(0, 12);
  const auto before = *in_range(0, 6);
  const auto after = *in_range(0, 6);
  const auto dilation = *in_range(1, 5);

  const Relation relation = window(n, {.before = before, .after = after, .dilation = dilation});

  RC_ASSERT(relation == by_rule(n, n, [&](auto s, auto d) {
              return (s - d) % dilation == 0 && d - s <= before * dilation && s - d <= after * dilation;
            }));
  RC_ASSERT(dilation > 1 || has_intervals(relation));
}

TEST(Builders, ClipAWindowOfAnySizeToTheNodes) {
  EXPECT_EQ(window(5, {.before = kHuge, .after = kHuge}), complete(5));
  EXPECT_EQ(window(5, {.before = kHuge}), causal(5));
  EXPECT_EQ(window(5, {.before = kHuge, .after = kHuge, .dilation = kHuge}), window(5, {}));
  EXPECT_EQ(block_local(5, kHuge), complete(5));
  EXPECT_EQ(strided(5, kHuge), window(5, {}));
  EXPECT_TRUE(has_intervals(strided(5, kHuge)));
}

RC_GTEST_PROP(Builders, BuildStridedRelationsBackFromEachNode, ()) {
  const auto n = *in_range(0, 14);
  const auto stride = *in_range(1, 6);

  RC_ASSERT(strided(n, stride) == by_rule(n, n, [&](auto s, auto d) { return s <= d && (d - s) % stride == 0; }));
  RC_ASSERT(stride > 1 || has_intervals(strided(n, stride)));
}

RC_GTEST_PROP(Builders, BuildBlocks, ()) {
  const auto n = *in_range(0, 14);
  const auto size = *in_range(1, 6);

  const Relation both = block_local(n, size);
  const Relation causal_blocks = block_local(n, size, Direction::kCausal);

  RC_ASSERT(both == by_rule(n, n, [&](auto s, auto d) { return s / size == d / size; }));
  RC_ASSERT(causal_blocks == by_rule(n, n, [&](auto s, auto d) { return s / size == d / size && s <= d; }));
  RC_ASSERT(has_intervals(both) && has_intervals(causal_blocks));
}

RC_GTEST_PROP(Builders, DrawDifferentAscendingSources, ()) {
  const auto n = *in_range(0, 9);
  const auto m = *in_range(0, 6);
  const auto degree = *in_range(0, 12);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();

  const Relation relation = random_relation(n, m, degree, seed);

  RC_ASSERT(relation == random_relation(n, m, degree, seed));
  RC_ASSERT(relation.num_destinations() == m);
  for (std::int64_t d = 0; d < m; ++d) RC_ASSERT(relation.row_size(d) == std::min(degree, n));
  auto by_destination_and_source = [](const Edge& edge) { return std::pair(edge.second, edge.first); };
  const auto ends = ends_of(relation);
  RC_ASSERT(std::ranges::adjacent_find(ends, std::ranges::greater_equal(), by_destination_and_source) == ends.end());
}

TEST(Builders, DrawDifferentSourcesForEachSeedAndRow) {
  const Relation relation = random_relation(1'000, 2, 20, /*seed=*/1);
  const auto sources = relation.edges().sources;

  EXPECT_FALSE(relation == random_relation(1'000, 2, 20, /*seed=*/2));
  EXPECT_FALSE(std::equal(sources.begin(), sources.begin() + 20, sources.begin() + 20));
}

TEST(Builders, DrawEverySourceEquallyOften) {
  constexpr std::int64_t kRows = 4'000;
  std::vector<std::int64_t> count(10, 0);

  for (const NodeIndex source : random_relation(10, kRows, 3, /*seed=*/7).edges().sources) ++count[source];

  // Each count is binomial with mean 1200 and standard deviation 29; 200 is more than six standard deviations.
  for (const std::int64_t times : count) EXPECT_NEAR(static_cast<double>(times), 0.3 * kRows, 200.0);
}

RC_GTEST_PROP(Builders, ConvertADenseMask, ()) {
  const auto n = *in_range<std::int64_t>(0, 6);
  const auto m = *in_range<std::int64_t>(0, 6);
  const auto mask = *rc::gen::container<std::vector<std::uint8_t>>(n * m, in_range<std::uint8_t>(0, 3));

  RC_ASSERT(from_mask(n, m, mask) == by_rule(n, m, [&](auto s, auto d) { return mask[d * n + s] != 0; }));
}

TEST(Builders, FindTheIntervalsOfAMask) {
  const std::vector<std::uint8_t> lower_triangle = {1, 0, 0, 1, 1, 0, 1, 1, 1};
  const std::vector<std::uint8_t> with_hole = {1, 0, 1};

  EXPECT_EQ(from_mask(3, 3, lower_triangle), causal(3));
  EXPECT_TRUE(has_intervals(from_mask(3, 3, lower_triangle)));
  EXPECT_FALSE(has_intervals(from_mask(3, 1, with_hole)));
}

TEST(Builders, RejectMoreNodesThanTheLimit) {
  const std::string too_many = " is 3000000000, needs a number from 0 to 2147483647";
  EXPECT_EQ(error_of([] { complete(kBillions); }), "complete: num_nodes" + too_many);
  EXPECT_EQ(error_of([] { causal(kBillions); }), "causal: num_nodes" + too_many);
  EXPECT_EQ(error_of([] { bipartite(kBillions, 1); }), "bipartite: num_sources" + too_many);
  EXPECT_EQ(error_of([] { bipartite(1, kBillions); }), "bipartite: num_destinations" + too_many);
  EXPECT_EQ(error_of([] { prefix(kBillions, {}); }), "prefix: num_sources" + too_many);
  EXPECT_EQ(error_of([] { window(kBillions, {}); }), "window: num_nodes" + too_many);
  EXPECT_EQ(error_of([] { strided(kBillions, 1); }), "strided: num_nodes" + too_many);
  EXPECT_EQ(error_of([] { block_local(kBillions, 1); }), "block_local: num_nodes" + too_many);
  EXPECT_EQ(error_of([] { random_relation(kBillions, 1, 1, 0); }), "random_relation: num_sources" + too_many);
  EXPECT_EQ(error_of([] { random_relation(1, kBillions, 1, 0); }), "random_relation: num_destinations" + too_many);
  EXPECT_EQ(error_of([] { from_mask(kBillions, 1, {}); }), "from_mask: num_sources" + too_many);
  EXPECT_EQ(error_of([] { from_mask(1, kBillions, {}); }), "from_mask: num_destinations" + too_many);
  EXPECT_EQ(error_of([] { complete(-1); }), "complete: num_nodes is -1, needs a number from 0 to 2147483647");
}

TEST(Builders, RejectInvalidOptions) {
  const std::vector<std::int64_t> lengths = {3, 4};
  EXPECT_EQ(error_of([&] { prefix(3, lengths); }),
            "prefix: lengths[1] is 4, needs a number from 0 to 3, the number of sources");
  EXPECT_EQ(error_of([] { window(3, {.before = -1}); }), "window: before is -1, needs 0 or more");
  EXPECT_EQ(error_of([] { window(3, {.after = -2}); }), "window: after is -2, needs 0 or more");
  EXPECT_EQ(error_of([] { window(3, {.dilation = 0}); }), "window: dilation is 0, needs 1 or more");
  EXPECT_EQ(error_of([] { strided(3, 0); }), "strided: stride is 0, needs 1 or more");
  EXPECT_EQ(error_of([] { block_local(3, 0); }), "block_local: block_size is 0, needs 1 or more");
  EXPECT_EQ(error_of([] { random_relation(3, 3, -1, 0); }), "random_relation: in_degree is -1, needs 0 or more");
  EXPECT_EQ(error_of([] { from_mask(3, 2, std::vector<std::uint8_t>(5)); }),
            "from_mask: mask has 5 entries, needs 6, one for each of 3 sources at each of 2 destinations");
}

}  // namespace
}  // namespace edgewise
