// SPDX-License-Identifier: Apache-2.0
#include "edgewise/graph/relation_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "edgewise/graph/builders.h"
#include "tests/graph/relations.h"
#include "tests/support/relation_zoo.h"

namespace edgewise {
namespace {

using testing::ElementsAre;

TEST(Reverse, ReversesEdgesAndReturnsTheirOriginalNumbers) {
  const auto [relation, edge] = reverse(Relation::from_csr(3, {0, 2, 4}, {2, 0, 0, 2}));

  EXPECT_EQ(relation.num_sources(), 2);
  EXPECT_EQ(relation.num_destinations(), 3);
  EXPECT_THAT(ends_of(relation), ElementsAre(Edge{0, 0}, Edge{1, 0}, Edge{0, 2}, Edge{1, 2}));
  EXPECT_THAT(edge, ElementsAre(1, 2, 0, 3));
}

TEST(Reverse, FindsIntervals) {
  EXPECT_TRUE(has_intervals(reverse(complete(5)).relation));
  EXPECT_TRUE(has_intervals(reverse(causal(5)).relation));
  EXPECT_TRUE(has_intervals(reverse(window(9, {.before = 2, .after = 1})).relation));
}

void expect_is_reverse(const Relation& relation, const ReversedRelation& reversed) {
  const auto ends = ends_of(relation);
  const auto reversed_ends = ends_of(reversed.relation);
  ASSERT_EQ(reversed_ends.size(), ends.size());
  ASSERT_EQ(reversed.edge.size(), ends.size());
  for (std::size_t i = 0; i < ends.size(); ++i) {
    EXPECT_EQ(reversed_ends[i], Edge(ends[reversed.edge[i]].second, ends[reversed.edge[i]].first));
    if (i > 0 && reversed_ends[i].second == reversed_ends[i - 1].second) {
      EXPECT_LT(reversed.edge[i - 1], reversed.edge[i]);
    }
  }
  EXPECT_EQ(std::set(reversed.edge.begin(), reversed.edge.end()).size(), ends.size());
}

TEST(Reverse, ReversesEveryBuildersRelation) {
  for (const auto& [name, relation] : relation_zoo()) {
    SCOPED_TRACE(name);
    expect_is_reverse(relation, reverse(relation));
  }
}

RC_GTEST_PROP(Reverse, TwiceSortsEachRowAndChangesNothingElse, ()) {
  const auto relation = *arbitrary_relation();

  const ReversedRelation once = reverse(relation);
  const ReversedRelation twice = reverse(once.relation);

  auto sorted = ends_of(relation);
  std::ranges::stable_sort(sorted, {}, [](const Edge& edge) { return std::pair(edge.second, edge.first); });
  RC_ASSERT(ends_of(twice.relation) == sorted);
  RC_ASSERT(twice.relation.num_sources() == relation.num_sources());
  RC_ASSERT(twice.relation.num_destinations() == relation.num_destinations());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    RC_ASSERT(ends_of(relation)[once.edge[twice.edge[i]]] == sorted[i]);
  }
}

RC_GTEST_PROP(KeepRows, KeepsTheEdgesOfTheGivenRowsOnly, ()) {
  const auto relation = *arbitrary_relation();
  const auto rows = *arbitrary_nodes(relation.num_destinations());

  const Relation kept = keep_rows(relation, rows);

  auto ends = ends_of(relation);
  std::erase_if(ends, [&](const Edge& edge) { return std::ranges::count(rows, edge.second) == 0; });
  RC_ASSERT(kept == relation_of(relation.num_sources(), relation.num_destinations(), ends));
  RC_ASSERT(has_intervals(kept) || !has_intervals(relation));
}

RC_GTEST_PROP(SelectRows, GathersRows, ()) {
  const auto relation = *arbitrary_relation();
  const auto rows = *arbitrary_nodes(relation.num_destinations());

  const Relation selected = select_rows(relation, rows);

  std::vector<Edge> ends;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const auto& [source, destination] : ends_of(relation)) {
      if (destination == rows[i]) ends.emplace_back(source, i);
    }
  }
  RC_ASSERT(selected == relation_of(relation.num_sources(), std::ssize(rows), ends));
  RC_ASSERT(has_intervals(selected) || !has_intervals(relation));
}

RC_GTEST_PROP(SelectNodes, KeepsTheEdgesBetweenTheGivenNodes, ()) {
  const auto relation = *arbitrary_relation();
  const auto destinations = *arbitrary_nodes(relation.num_destinations());
  auto sources = *arbitrary_nodes(relation.num_sources());
  std::ranges::sort(sources);
  sources.erase(std::unique(sources.begin(), sources.end()), sources.end());

  const Relation selected = select_nodes(relation, destinations, sources);

  std::vector<Edge> ends;
  for (std::size_t i = 0; i < destinations.size(); ++i) {
    for (const auto& [source, destination] : ends_of(relation)) {
      const auto found = std::ranges::find(sources, source);
      if (destination == destinations[i] && found != sources.end()) ends.emplace_back(found - sources.begin(), i);
    }
  }
  RC_ASSERT(selected == relation_of(std::ssize(sources), std::ssize(destinations), ends));
  RC_ASSERT(has_intervals(selected) || !has_intervals(relation));
}

RC_GTEST_PROP(KeepEdges, KeepsTheGivenEdgesInTheirOrder, ()) {
  const auto relation = *arbitrary_relation();
  const auto edges = *arbitrary_edges(relation.num_edges());

  const Relation kept = keep_edges(relation, edges);

  std::vector<Edge> ends;
  for (EdgeIndex edge = 0; edge < relation.num_edges(); ++edge) {
    if (std::ranges::count(edges, edge) != 0) ends.push_back(ends_of(relation)[edge]);
  }
  RC_ASSERT(kept == relation_of(relation.num_sources(), relation.num_destinations(), ends));
}

RC_GTEST_PROP(KeepEdges, ReturnsAnEqualRelationForAllEdges, ()) {
  const auto relation = *arbitrary_relation();
  std::vector<EdgeIndex> all(relation.num_edges());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = std::ssize(all) - 1 - static_cast<EdgeIndex>(i);

  RC_ASSERT(keep_edges(relation, all) == relation);
  RC_ASSERT(has_intervals(keep_edges(relation, all)) || !has_intervals(relation.prefer_intervals()));
}

RC_GTEST_PROP(FindEdgesOf, ReturnsTheEdgesWhoseEndsBothRelationsJoin, ()) {
  const auto some = *arbitrary_relation();
  const Relation all = unite(some, some);  // the sources of each row ascend
  const auto other = *arbitrary_relation(all.num_sources(), all.num_destinations());
  const Relation part = unite(other, other);

  std::vector<EdgeIndex> edges;
  for (EdgeIndex edge = 0; edge < all.num_edges(); ++edge) {
    if (std::ranges::count(ends_of(part), ends_of(all)[edge]) != 0) edges.push_back(edge);
  }
  RC_ASSERT(find_edges_of(part, all) == edges);
}

RC_GTEST_PROP(Unite, HasEachEdgeOfBothRelationsOnce, ()) {
  const auto a = *arbitrary_relation();
  const auto b = *arbitrary_relation(a.num_sources(), a.num_destinations());

  std::set<Edge> reversed;  // (destination, source), so that the set has the order of edge numbers
  for (const Relation& relation : {a, b}) {
    for (const auto& [source, destination] : ends_of(relation)) reversed.emplace(destination, source);
  }
  std::vector<Edge> ends;
  for (const auto& [destination, source] : reversed) ends.emplace_back(source, destination);
  RC_ASSERT(unite(a, b) == relation_of(a.num_sources(), a.num_destinations(), ends));
  RC_ASSERT(unite(a, b).form() == unite(a, b).to_csr().prefer_intervals().form());
}

TEST(Unite, JoinsTouchingIntervals) {
  const Relation back = window(6, {.before = 2});
  const Relation ahead = window(6, {.after = 1});

  EXPECT_EQ(unite(back, ahead), window(6, {.before = 2, .after = 1}));
  EXPECT_TRUE(has_intervals(unite(back, ahead)));
  EXPECT_TRUE(has_intervals(
      unite(Relation::from_intervals(9, {{0, 4}, {7, 7}}), Relation::from_intervals(9, {{4, 8}, {1, 3}}))));
}

TEST(Unite, ReturnsCsrForIntervalsWithAGap) {
  const Relation low = Relation::from_intervals(9, {{0, 3}});
  const Relation high = Relation::from_intervals(9, {{4, 6}});

  for (const Relation& united : {unite(low, high), unite(high, low)}) {
    EXPECT_FALSE(has_intervals(united));
    EXPECT_THAT(united.edges().sources, ElementsAre(0, 1, 2, 4, 5));
  }
}

RC_GTEST_PROP(Join, ShiftsEachPartByTheSizesBeforeIt, ()) {
  const auto parts = *arbitrary_list(0, 5, arbitrary_relation());

  const Relation joined = join(parts);

  std::vector<Edge> ends;
  std::int64_t first_source = 0;
  std::int64_t first_destination = 0;
  bool are_intervals = true;
  for (const Relation& part : parts) {
    for (const auto& [source, destination] : ends_of(part)) {
      ends.emplace_back(source + first_source, destination + first_destination);
    }
    first_source += part.num_sources();
    first_destination += part.num_destinations();
    are_intervals = are_intervals && has_intervals(part.prefer_intervals());
  }
  RC_ASSERT(joined == relation_of(first_source, first_destination, ends));
  RC_ASSERT(has_intervals(joined) == are_intervals);
}

TEST(Join, ReturnsAnEmptyRelationForNoParts) { EXPECT_EQ(join({}), Relation()); }

TEST(RelationOps, RejectUnknownRowsAndEdges) {
  const std::vector<NodeIndex> rows = {0, 3};
  const std::vector<NodeIndex> unordered = {1, 0};
  const std::vector<EdgeIndex> beyond = {0, 6};
  const std::vector<EdgeIndex> negative = {-1};
  const std::vector<EdgeIndex> twice = {5, 2, 5};
  EXPECT_EQ(error_of([&] { keep_rows(causal(3), rows); }), "keep_rows: rows[1] is 3, needs a number in [0, 3)");
  EXPECT_EQ(error_of([&] { select_rows(causal(3), rows); }), "select_rows: rows[1] is 3, needs a number in [0, 3)");
  EXPECT_EQ(error_of([&] { select_nodes(causal(3), {}, unordered); }),
            "select_nodes: sources[1] is 0, needs ascending numbers in [0, 3)");
  EXPECT_EQ(error_of([&] { keep_edges(causal(3), beyond); }), "keep_edges: edges[1] is 6, needs a number in [0, 6)");
  EXPECT_EQ(error_of([&] { keep_edges(causal(3), negative); }), "keep_edges: edges[0] is -1, needs a number in [0, 6)");
  EXPECT_EQ(error_of([&] { keep_edges(causal(3), twice); }),
            "keep_edges: edges has number 5 twice, needs each number at most once");
}

TEST(RelationOps, RejectRelationsOfDifferentSizes) {
  EXPECT_EQ(error_of([] { unite(bipartite(3, 4), bipartite(3, 5)); }),
            "unite: b has 3 sources and 5 destinations, needs 3 and 4 as a has");
  EXPECT_EQ(error_of([] { find_edges_of(bipartite(3, 4), bipartite(2, 4)); }),
            "find_edges_of: part has 3 sources and 4 destinations, needs 2 and 4 as all has");
  const std::vector<Relation> many_sources(2, bipartite(2'000'000'000, 0));
  EXPECT_EQ(error_of([&] { join(many_sources); }),
            "join: the number of sources of all parts is 4000000000, needs a number from 0 to 2147483647");
}

}  // namespace
}  // namespace edgewise
