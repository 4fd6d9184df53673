// SPDX-License-Identifier: Apache-2.0
#include "edgewise/graph/relation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "edgewise/base/error.h"
#include "edgewise/graph/builders.h"
#include "edgewise/graph/node_count.h"
#include "tests/graph/relations.h"
#include "tests/support/relation_zoo.h"

namespace edgewise {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kOneTooMany = kMaxNodes + 1;

TEST(Relation, IsEmptyByDefault) {
  const Relation relation;

  EXPECT_EQ(relation.num_sources(), 0);
  EXPECT_EQ(relation.num_destinations(), 0);
  EXPECT_EQ(relation.num_edges(), 0);
  EXPECT_THAT(relation.row_begin(), ElementsAre(0));
  EXPECT_TRUE(relation.edges().sources.empty());
  EXPECT_EQ(relation.view().num_edges(), 0);
}

TEST(Relation, NumbersEdgesRowByRow) {
  const auto relation = Relation::from_intervals(4, {{1, 3}, {2, 2}, {0, 4}});

  EXPECT_EQ(relation.form(), Relation::Form::kIntervals);
  EXPECT_THAT(relation.row_begin(), ElementsAre(0, 2, 2, 6));
  EXPECT_THAT(ends_of(relation), ElementsAre(Edge{1, 0}, Edge{2, 0}, Edge{0, 2}, Edge{1, 2}, Edge{2, 2}, Edge{3, 2}));
  EXPECT_EQ(relation.row_size(0), 2);
  EXPECT_EQ(relation.row_size(1), 0);
  EXPECT_EQ(relation.row_size(2), 4);
}

TEST(Relation, KeepsTheOrderAndTheDuplicatesOfARow) {
  const auto relation = Relation::from_csr(5, {0, 3, 3, 5}, {4, 1, 4, 2, 0});

  EXPECT_EQ(relation.form(), Relation::Form::kCsr);
  EXPECT_THAT(ends_of(relation), ElementsAre(Edge{4, 0}, Edge{1, 0}, Edge{4, 0}, Edge{2, 2}, Edge{0, 2}));
}

TEST(Relation, SortsEdgesByRowAndKeepsTheirOrderWithinIt) {
  const auto relation = Relation::from_edges(3, 3, {.sources = {2, 1, 0, 2}, .destinations = {2, 0, 2, 2}});

  EXPECT_THAT(ends_of(relation), ElementsAre(Edge{1, 0}, Edge{2, 2}, Edge{0, 2}, Edge{2, 2}));
}

TEST(Relation, ReturnsWhereEachEdgeIsInTheListThatItSorts) {
  const EdgeList list = {.sources = {2, 1, 0, 2, 1}, .destinations = {2, 0, 2, 2, 0}};

  const auto [relation, order] = Relation::from_edges_with_order(3, 3, list);

  EXPECT_EQ(relation, Relation::from_edges(3, 3, list));
  EXPECT_THAT(order, ElementsAre(1, 4, 0, 2, 3));
  EXPECT_EQ(error_of([] { Relation::from_edges_with_order(2, 3, {.sources = {2}, .destinations = {0}}); }),
            "from_edges: edges.sources[0] is 2, needs a number in [0, 2)");
}

TEST(Relation, CountsMoreEdgesThan32BitsHold) {
  const std::int64_t num_nodes = 200'000;

  const Relation relation = complete(num_nodes);

  EXPECT_EQ(relation.num_edges(), num_nodes * num_nodes);
  EXPECT_EQ(relation.row_begin().back(), 40'000'000'000);
  EXPECT_EQ(relation.view().source(num_nodes - 1, relation.num_edges() - 1), num_nodes - 1);
}

TEST(Relation, AcceptsTheLargestNumberOfSources) {
  const auto last = static_cast<NodeIndex>(kMaxNodes - 1);

  EXPECT_EQ(Relation::from_intervals(kMaxNodes, {{0, kMaxNodes}, {0, kMaxNodes}, {0, kMaxNodes}}).num_edges(),
            3 * kMaxNodes);
  EXPECT_EQ(Relation::from_csr(kMaxNodes, {0, 1}, {last}).prefer_intervals().form(), Relation::Form::kIntervals);
}

TEST(Relation, HasEqualViewsInBothForms) {
  for (const auto& [name, relation] : relation_zoo()) {
    SCOPED_TRACE(name);
    const RelationView view = relation.view();

    EXPECT_EQ(view.num_edges(), relation.num_edges());
    EXPECT_EQ(view.num_sources, relation.num_sources());
    EXPECT_EQ(view.num_destinations, relation.num_destinations());
    std::vector<Edge> ends;
    for (NodeIndex d = 0; d < view.num_destinations; ++d) {
      for (EdgeIndex edge = view.row_begin[d]; edge < view.row_begin[d + 1]; ++edge) {
        ends.emplace_back(view.source(d, edge), d);
      }
    }
    EXPECT_EQ(ends, ends_of(relation.to_csr()));
  }
}

TEST(Relation, IsEqualInEitherForm) {
  EXPECT_EQ(causal(4), causal(4).to_csr());
  EXPECT_EQ(causal(4).to_csr(), causal(4));
  EXPECT_EQ(Relation::from_intervals(3, {{1, 1}}), Relation::from_intervals(3, {{2, 2}}));
  EXPECT_FALSE(Relation::from_intervals(3, {{0, 1}}) == Relation::from_intervals(3, {{1, 2}}));
  EXPECT_FALSE(Relation::from_csr(3, {0, 1}, {0}) == Relation::from_intervals(3, {{1, 2}}));
  EXPECT_FALSE(bipartite(3, 0) == bipartite(4, 0));
  EXPECT_FALSE(bipartite(0, 3) == bipartite(0, 4));
  EXPECT_FALSE(Relation::from_csr(2, {0, 2}, {0, 1}) == Relation::from_csr(2, {0, 2}, {1, 0}));
}

TEST(Relation, StaysCsrIfTheSourcesOfARowAreNotConsecutive) {
  EXPECT_EQ(Relation::from_csr(3, {0, 2}, {0, 2}).prefer_intervals().form(), Relation::Form::kCsr);
  EXPECT_EQ(Relation::from_csr(3, {0, 2}, {1, 0}).prefer_intervals().form(), Relation::Form::kCsr);
  EXPECT_EQ(Relation::from_csr(3, {0, 2}, {1, 1}).prefer_intervals().form(), Relation::Form::kCsr);
  EXPECT_EQ(Relation::from_csr(3, {0, 2, 2}, {1, 2}).prefer_intervals().form(), Relation::Form::kIntervals);
}

RC_GTEST_PROP(Relation, KeepsItsEdgesInEveryForm, ()) {
  const auto relation = *arbitrary_relation();

  RC_ASSERT(relation.to_csr() == relation);
  RC_ASSERT(relation.to_csr().form() == Relation::Form::kCsr);
  RC_ASSERT(relation.prefer_intervals() == relation);
  RC_ASSERT(ends_of(relation.prefer_intervals()) == ends_of(relation));
}

RC_GTEST_PROP(Relation, BecomesIntervalsAgain, ()) {
  const auto relation = *arbitrary_intervals(6, 5);

  RC_ASSERT(relation.to_csr().prefer_intervals().form() == Relation::Form::kIntervals);
}

RC_GTEST_PROP(Relation, EqualsTheRelationOfItsEdges, ()) {
  const auto relation = *arbitrary_relation();

  RC_ASSERT(Relation::from_edges(relation.num_sources(), relation.num_destinations(), relation.edges()) == relation);
}

RC_GTEST_PROP(Relation, SortsEdgesGivenInAnyOrder, ()) {
  auto ends = *arbitrary_list(0, 21, rc::gen::pair(in_range<NodeIndex>(0, 5), in_range<NodeIndex>(0, 4)));

  const Relation relation = relation_of(5, 4, ends);

  std::ranges::stable_sort(ends, {}, &Edge::second);
  RC_ASSERT(ends_of(relation) == ends);
}

TEST(Relation, RejectsInvalidIntervals) {
  EXPECT_EQ(error_of([] { Relation::from_intervals(kOneTooMany, {}); }),
            "from_intervals: num_sources is 2147483648, needs a number from 0 to 2147483647");
  EXPECT_EQ(error_of([] { Relation::from_intervals(-1, {}); }),
            "from_intervals: num_sources is -1, needs a number from 0 to 2147483647");
  EXPECT_EQ(error_of([] {
              Relation::from_intervals(5, {{0, 5}, {3, 2}});
            }),
            "from_intervals: rows[1] is [3, 2), needs 0 <= begin <= end <= 5, the number of sources");
  EXPECT_EQ(error_of([] {
              Relation::from_intervals(5, {{0, 6}});
            }),
            "from_intervals: rows[0] is [0, 6), needs 0 <= begin <= end <= 5, the number of sources");
  EXPECT_EQ(error_of([] {
              Relation::from_intervals(5, {{-1, 2}});
            }),
            "from_intervals: rows[0] is [-1, 2), needs 0 <= begin <= end <= 5, the number of sources");
}

TEST(Relation, RejectsInvalidCsr) {
  EXPECT_EQ(error_of([] { Relation::from_csr(kOneTooMany, {0}, {}); }),
            "from_csr: num_sources is 2147483648, needs a number from 0 to 2147483647");
  EXPECT_EQ(error_of([] { Relation::from_csr(1, {}, {}); }),
            "from_csr: row_begin is empty, needs one number more than there are rows");
  EXPECT_EQ(error_of([] { Relation::from_csr(1, {1, 1}, {0}); }), "from_csr: row_begin[0] is 1, needs 0");
  EXPECT_EQ(error_of([] {
              Relation::from_csr(1, {0, 2, 1}, {0});
            }),
            "from_csr: row_begin[2] is 1, needs at least 2, the number before it");
  EXPECT_EQ(error_of([] {
              Relation::from_csr(1, {0, 2}, {0});
            }),
            "from_csr: row_begin ends with 2, needs 1, the number of sources given");
  EXPECT_EQ(error_of([] {
              Relation::from_csr(3, {0, 2}, {0, 3});
            }),
            "from_csr: sources[1] is 3, needs a number in [0, 3)");
  EXPECT_EQ(error_of([] {
              Relation::from_csr(3, {0, 1}, {-1});
            }),
            "from_csr: sources[0] is -1, needs a number in [0, 3)");
}

TEST(Relation, RejectsInvalidEdges) {
  EXPECT_EQ(error_of([] { Relation::from_edges(kOneTooMany, 1, {}); }),
            "from_edges: num_sources is 2147483648, needs a number from 0 to 2147483647");
  EXPECT_EQ(error_of([] { Relation::from_edges(1, kOneTooMany, {}); }),
            "from_edges: num_destinations is 2147483648, needs a number from 0 to 2147483647");
  EXPECT_EQ(error_of([] {
              Relation::from_edges(1, 1, {.sources = {0, 0}, .destinations = {0}});
            }),
            "from_edges: edges has 2 sources and 1 destinations, needs as many of each");
  EXPECT_EQ(error_of([] { Relation::from_edges(2, 3, {.sources = {2}, .destinations = {0}}); }),
            "from_edges: edges.sources[0] is 2, needs a number in [0, 2)");
  EXPECT_EQ(error_of([] { Relation::from_edges(2, 3, {.sources = {1}, .destinations = {-1}}); }),
            "from_edges: edges.destinations[0] is -1, needs a number in [0, 3)");
}

TEST(Relation, RejectsAnUnknownRow) {
  EXPECT_EQ(error_of([] { causal(3).row_size(3); }), "row_size: destination is 3, needs a number in [0, 3)");
  EXPECT_EQ(error_of([] { Relation().row_size(0); }), "row_size: destination is 0, needs a number in [0, 0)");
}

struct CountedView {
  explicit CountedView(const RelationView& relation) : view(relation) { ++count; }
  RelationView view;
  static inline std::atomic<int> count = 0;
};

TEST(Relation, DerivesAValueOnceForAllItsCopies) {
  CountedView::count = 0;
  const Relation relation = causal(4);
  const Relation copy = relation;  // NOLINT(performance-unnecessary-copy-initialization)

  const CountedView& value = relation.derive<CountedView>();

  EXPECT_EQ(value.view.intervals, relation.view().intervals);
  EXPECT_EQ(&copy.derive<CountedView>(), &value);
  EXPECT_EQ(CountedView::count, 1);
  EXPECT_NE(&causal(4).derive<CountedView>(), &value);
}

TEST(Relation, DerivesAValueOnceForManyThreads) {
  CountedView::count = 0;
  const Relation relation = causal(4);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([relation] { relation.derive<CountedView>(); });
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(CountedView::count, 1);
}

struct FailsAtFirst {
  explicit FailsAtFirst(const RelationView& /*view*/) { check(++count > 1, "not the first time"); }
  static inline int count = 0;
};

TEST(Relation, DerivesAValueAgainAfterAnException) {
  const Relation relation = causal(4);

  EXPECT_THROW(relation.derive<FailsAtFirst>(), Error);
  EXPECT_NO_THROW(relation.derive<FailsAtFirst>());
}

}  // namespace
}  // namespace edgewise
