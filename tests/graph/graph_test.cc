// SPDX-License-Identifier: Apache-2.0
#include "edgewise/graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "edgewise/graph/builders.h"
#include "edgewise/graph/numbering.h"
#include "tests/graph/relations.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Makes a graph of two sets with a relation for every combination of source and destination set.
Graph two_sets(const Relation& within, const Relation& across, const Relation& back) {
  return Graph({{"a", across.num_sources()}, {"b", across.num_destinations()}},
               {{"within", "a", "a", within}, {"across", "a", "b", across}, {"back", "b", "a", back}});
}

rc::Gen<Graph> arbitrary_graph() {
  return rc::gen::exec([] {
    const auto a = *in_range<std::int64_t>(0, 4);
    const auto b = *in_range<std::int64_t>(0, 4);
    return two_sets(*arbitrary_relation(a, a), *arbitrary_relation(a, b), *arbitrary_relation(b, a));
  });
}

rc::Gen<std::vector<Graph>> arbitrary_parts() { return arbitrary_list(1, 5, arbitrary_graph()); }

std::vector<EdgeIndex> all_numbers(const Graph& graph) {
  std::vector<EdgeIndex> numbers(graph.num_edges());
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

void assert_same(const Graph& a, const Graph& b) {
  RC_ASSERT(a.num_nodes() == b.num_nodes());
  RC_ASSERT(a.num_parts() == b.num_parts());
  RC_ASSERT(ends_of(a.all_edges()) == ends_of(b.all_edges()));
  for (const auto& set : a.sets()) {
    for (std::int64_t part = 0; part < a.num_parts(); ++part) {
      RC_ASSERT(a.nodes(set.name, part) == b.nodes(set.name, part));
    }
  }
  for (const auto& named : a.relations()) {
    RC_ASSERT(named.relation == b.relation(named.name));
    for (std::int64_t part = 0; part < a.num_parts(); ++part) {
      RC_ASSERT(a.edges(named.name, part) == b.edges(named.name, part));
    }
  }
}

TEST(Graph, IsEmptyByDefault) {
  const Graph graph;

  EXPECT_EQ(graph.num_nodes(), 0);
  EXPECT_EQ(graph.num_edges(), 0);
  EXPECT_EQ(graph.num_parts(), 0);
  EXPECT_TRUE(graph.sets().empty());
  EXPECT_THAT(ends_of(graph.all_edges()), IsEmpty());
}

TEST(Graph, NumbersNodesSetBySetAndEdgesRelationByRelation) {
  const Graph graph = two_sets(causal(2), bipartite(2, 3), bipartite(3, 2));

  EXPECT_EQ(graph.num_nodes(), 5);
  EXPECT_EQ(graph.num_edges(), 3 + 6 + 6);
  EXPECT_EQ(graph.set_size("b"), 3);
  EXPECT_THAT(graph.nodes("a"), ElementsAre(0, 1));
  EXPECT_THAT(graph.nodes("b"), ElementsAre(2, 3, 4));
  EXPECT_THAT(graph.edges("within"), ElementsAre(0, 1, 2));
  EXPECT_THAT(graph.edges("across"), ElementsAre(3, 4, 5, 6, 7, 8));
  EXPECT_THAT(ends_of(graph.find_edges(graph.edges("within"))), ElementsAre(Edge{0, 0}, Edge{0, 1}, Edge{1, 1}));
  EXPECT_THAT(ends_of(graph.find_edges(graph.edges("back"))),
              ElementsAre(Edge{2, 0}, Edge{3, 0}, Edge{4, 0}, Edge{2, 1}, Edge{3, 1}, Edge{4, 1}));
}

TEST(Graph, HasOneSetWhenMadeFromARelation) {
  const Graph graph(causal(3));

  EXPECT_THAT(graph.nodes("nodes"), ElementsAre(0, 1, 2));
  EXPECT_EQ(graph.relation("edges"), causal(3));
  EXPECT_EQ(ends_of(graph.all_edges()), ends_of(causal(3)));
}

TEST(Graph, MayHaveSetsWithoutRelations) {
  const Graph graph({{"a", 2}, {"b", 0}}, {});

  EXPECT_EQ(graph.num_nodes(), 2);
  EXPECT_EQ(graph.num_edges(), 0);
  EXPECT_THAT(graph.nodes("b"), IsEmpty());
  EXPECT_EQ(Graph::batch(std::vector<Graph>(3, graph)).num_nodes(), 6);
}

TEST(Graph, CountsMoreEdgesThan32BitsHold) {
  const std::int64_t num_nodes = 100'000;
  const std::vector<Graph> parts(3, Graph(complete(num_nodes)));

  const Graph graph = Graph::batch(parts);

  EXPECT_EQ(graph.num_edges(), 3 * num_nodes * num_nodes);
  const std::vector<EdgeIndex> last = {graph.num_edges() - 1};
  EXPECT_THAT(ends_of(graph.find_edges(last)), ElementsAre(Edge{299'999, 299'999}));
}

RC_GTEST_PROP(GraphBatch, EqualsItsPartsShifted, ()) {
  const auto parts = *arbitrary_parts();

  const Graph batch = Graph::batch(parts);

  std::vector<Edge> ends;
  NodeIndex first_node = 0;
  EdgeIndex first_edge = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const auto& [source, destination] : ends_of(parts[i].all_edges())) {
      ends.emplace_back(source + first_node, destination + first_node);
    }
    for (const auto* set : {"a", "b"}) {
      auto nodes = parts[i].nodes(set);
      for (NodeIndex& node : nodes) node += first_node;
      RC_ASSERT(batch.nodes(set, i) == nodes);
    }
    for (const auto* relation : {"within", "across", "back"}) {
      auto edges = parts[i].edges(relation);
      for (EdgeIndex& edge : edges) edge += first_edge;
      RC_ASSERT(batch.edges(relation, i) == edges);
    }
    first_node += static_cast<NodeIndex>(parts[i].num_nodes());
    first_edge += parts[i].num_edges();
  }
  RC_ASSERT(batch.num_parts() == std::ssize(parts));
  RC_ASSERT(batch.num_nodes() == first_node);
  RC_ASSERT(batch.num_edges() == first_edge);
  RC_ASSERT(ends_of(batch.all_edges()) == ends);
}

RC_GTEST_PROP(GraphBatch, NumbersOfAllPartsAreTheNumbersOfEachPartInOrder, ()) {
  const Graph batch = Graph::batch(*arbitrary_parts());

  for (const auto& set : batch.sets()) {
    std::vector<NodeIndex> nodes;
    for (std::int64_t part = 0; part < batch.num_parts(); ++part) {
      const auto more = batch.nodes(set.name, part);
      nodes.insert(nodes.end(), more.begin(), more.end());
    }
    RC_ASSERT(batch.nodes(set.name) == nodes);
    RC_ASSERT(std::ssize(nodes) == batch.set_size(set.name));
  }
  std::vector<EdgeIndex> edges;
  for (const auto& named : batch.relations()) {
    const auto more = batch.edges(named.name);
    RC_ASSERT(std::ssize(more) == named.relation.num_edges());
    edges.insert(edges.end(), more.begin(), more.end());
  }
  std::ranges::sort(edges);
  RC_ASSERT(edges == all_numbers(batch));
}

RC_GTEST_PROP(GraphBatch, RelationsCountNodesWithinTheirSets, ()) {
  const Graph batch = Graph::batch(*arbitrary_parts());

  for (const auto& named : batch.relations()) {
    const auto sources = batch.nodes(named.source_set);
    const auto destinations = batch.nodes(named.destination_set);
    auto ends = ends_of(named.relation);
    for (auto& [source, destination] : ends) {
      source = sources[source];
      destination = destinations[destination];
    }
    RC_ASSERT(ends_of(batch.find_edges(batch.edges(named.name))) == ends);
  }
}

RC_GTEST_PROP(GraphBatch, OfBatchesEqualsTheBatchOfAllTheirParts, ()) {
  const auto first = *arbitrary_parts();
  const auto second = *arbitrary_parts();

  auto all = first;
  all.insert(all.end(), second.begin(), second.end());
  const std::vector<Graph> batches = {Graph::batch(first), Graph::batch(second)};
  assert_same(Graph::batch(batches), Graph::batch(all));
}

RC_GTEST_PROP(GraphBatch, OfOneGraphEqualsThatGraph, ()) {
  const std::vector<Graph> one = {*arbitrary_graph()};

  assert_same(Graph::batch(one), one[0]);
}

TEST(GraphBatch, OfNoGraphsHasNoParts) {
  EXPECT_EQ(Graph::batch({}).num_parts(), 0);
  EXPECT_EQ(Graph(causal(3)).without_parts().num_parts(), 0);
  EXPECT_EQ(Graph(causal(3)).without_parts().num_nodes(), 0);
  EXPECT_THAT(Graph(causal(3)).without_parts().edges("edges"), IsEmpty());
}

RC_GTEST_PROP(FindEdges, FindsEdgesInTheOrderOfTheNumbers, ()) {
  const Graph graph = Graph::batch(*arbitrary_parts());
  const auto edges = *arbitrary_edges(graph.num_edges());

  const auto all = ends_of(graph.all_edges());
  std::vector<Edge> expected;
  for (const EdgeIndex edge : edges) expected.push_back(all[edge]);
  RC_ASSERT(ends_of(graph.find_edges(edges)) == expected);
}

RC_GTEST_PROP(EdgeSubgraph, KeepsTheGivenEdgesAndAllNodes, ()) {
  const Graph graph = Graph::batch(*arbitrary_parts());
  auto edges = *arbitrary_edges(graph.num_edges());

  const Graph subgraph = graph.edge_subgraph(edges);

  std::ranges::sort(edges);
  RC_ASSERT(ends_of(subgraph.all_edges()) == ends_of(graph.find_edges(edges)));
  RC_ASSERT(subgraph.num_parts() == graph.num_parts());
  for (const auto& set : graph.sets()) RC_ASSERT(subgraph.nodes(set.name) == graph.nodes(set.name));
}

RC_GTEST_PROP(EdgeSubgraph, OfAllEdgesIsTheGraph, ()) {
  const Graph graph = Graph::batch(*arbitrary_parts());

  assert_same(graph.edge_subgraph(all_numbers(graph)), graph);
}

RC_GTEST_PROP(WithRelation, EqualsTheBatchOfPartsWithTheReplacedRelation, ()) {
  auto parts = *arbitrary_parts();
  const Graph before = Graph::batch(parts);

  for (Graph& part : parts) {
    part = part.with_relation("across", *arbitrary_relation(part.set_size("a"), part.set_size("b")));
  }
  const Graph expected = Graph::batch(parts);
  assert_same(before.with_relation("across", expected.relation("across")), expected);
}

TEST(WithRelation, RenumbersLaterEdges) {
  const Graph graph = two_sets(complete(3), bipartite(3, 1), bipartite(1, 3));

  const Graph narrower = graph.with_relation("within", window(3, {}));

  EXPECT_THAT(graph.edges("across"), ElementsAre(9, 10, 11));
  EXPECT_THAT(narrower.edges("across"), ElementsAre(3, 4, 5));
}

TEST(WithRelation, RejectsAnEdgeThatJoinsTwoParts) {
  const Graph graph = Graph::batch(std::vector<Graph>{Graph(complete(2)), Graph(complete(3))});

  EXPECT_EQ(error_of([&] { graph.with_relation("edges", complete(5)); }),
            "with_relation: edge 4 of \"edges\" has source 4, needs one in [0, 2), the sources in part 0 of its "
            "destination");
  EXPECT_EQ(error_of([&] {
              graph.with_relation("edges", Relation::from_edges(5, 5, {.sources = {0, 1}, .destinations = {1, 3}}));
            }),
            "with_relation: edge 1 of \"edges\" has source 1, needs one in [2, 5), the sources in part 1 of its "
            "destination");
  EXPECT_EQ(error_of([&] { graph.with_relation("edges", Relation::from_intervals(5, std::vector<Interval>(5))); }),
            "no error");
}

TEST(Graph, RejectsSetsAndRelationsThatDoNotFit) {
  EXPECT_EQ(error_of([] { Graph({{"a", 1}, {"a", 2}}, {}); }), "Graph: set \"a\" is given twice, needs each name once");
  EXPECT_EQ(error_of([] {
              Graph({{"a", 1}}, {{"r", "a", "a", causal(1)}, {"r", "a", "a", causal(1)}});
            }),
            "Graph: relation \"r\" is given twice, needs each name once");
  EXPECT_EQ(error_of([] {
              Graph({{"a", -1}}, {});
            }),
            "Graph: size of set \"a\" is -1, needs a number from 0 to 2147483647");
  EXPECT_EQ(error_of([] {
              Graph({{"a", 2'000'000'000}, {"b", 2'000'000'000}}, {});
            }),
            "Graph: the number of nodes of all sets is 4000000000, needs a number from 0 to 2147483647");
  EXPECT_EQ(error_of([] {
              Graph({{"a", 1}, {"b", 1}}, {{"r", "c", "a", causal(1)}});
            }),
            "Graph: source set of relation \"r\" is \"c\", needs one of [a, b]");
  EXPECT_EQ(error_of([] {
              Graph({{"a", 1}}, {{"r", "a", "c", causal(1)}});
            }),
            "Graph: destination set of relation \"r\" is \"c\", needs one of [a]");
  EXPECT_EQ(error_of([] {
              Graph({{"a", 2}, {"b", 3}}, {{"r", "a", "b", bipartite(3, 2)}});
            }),
            "Graph: relation \"r\" has 3 sources and 2 destinations, needs 2 and 3 as its sets \"a\" and \"b\" have");
  EXPECT_EQ(error_of([] { Graph(bipartite(2, 3)); }),
            "Graph: relation has 2 sources and 3 destinations, needs as many of each");
}

TEST(Graph, RejectsAnUnknownSetRelationPartOrEdge) {
  const Graph graph = two_sets(causal(2), bipartite(2, 2), bipartite(2, 2));
  const std::vector<EdgeIndex> beyond = {0, 11};
  const std::vector<EdgeIndex> twice = {3, 3};

  EXPECT_EQ(error_of([&] { graph.nodes("c"); }), "nodes: set is \"c\", needs one of [a, b]");
  EXPECT_EQ(error_of([&] { graph.set_size("c"); }), "set_size: set is \"c\", needs one of [a, b]");
  EXPECT_EQ(error_of([&] { graph.edges("ee"); }), "edges: relation is \"ee\", needs one of [within, across, back]");
  EXPECT_EQ(error_of([&] { graph.relation("ee"); }), "relation: name is \"ee\", needs one of [within, across, back]");
  EXPECT_EQ(error_of([] { Graph().relation("ee"); }), "relation: name is \"ee\", needs one of []");
  EXPECT_EQ(error_of([&] { graph.nodes("a", 1); }), "nodes: part is 1, needs a number in [0, 1)");
  EXPECT_EQ(error_of([&] { graph.edges("back", -1); }), "edges: part is -1, needs a number in [0, 1)");
  EXPECT_EQ(error_of([&] { graph.find_edges(beyond); }), "find_edges: edges[1] is 11, needs a number in [0, 11)");
  EXPECT_EQ(error_of([&] { graph.edge_subgraph(beyond); }), "edge_subgraph: edges[1] is 11, needs a number in [0, 11)");
  EXPECT_EQ(error_of([&] { graph.edge_subgraph(twice); }),
            "edge_subgraph: edges has number 3 twice, needs each number at most once");
  EXPECT_EQ(error_of([&] { graph.with_relation("ee", causal(2)); }),
            "with_relation: name is \"ee\", needs one of [within, across, back]");
  EXPECT_EQ(error_of([&] { graph.with_relation("across", bipartite(2, 3)); }),
            "with_relation: relation \"across\" has 2 sources and 3 destinations, needs 2 and 2 as its sets \"a\" and "
            "\"b\" have");
}

TEST(GraphFromParts, EqualsTheBatchOfItsParts) {
  const Graph first({{"a", 2}, {"b", 1}}, {{"ab", "a", "b", bipartite(2, 1)}});
  const Graph second({{"a", 1}, {"b", 3}}, {{"ab", "a", "b", bipartite(1, 3)}});
  const Graph joined = Graph::batch(std::vector<Graph>{first, second});

  const Graph graph = Graph::from_parts(
      {{"a", 3}, {"b", 4}}, {{"ab", "a", "b", Relation::from_intervals(3, {{0, 2}, {2, 3}, {2, 3}, {2, 3}})}},
      {2, 1, 1, 3});

  EXPECT_EQ(graph.num_parts(), 2);
  EXPECT_EQ(graph.nodes("b", 1), joined.nodes("b", 1));
  EXPECT_EQ(graph.edges("ab", 1), joined.edges("ab", 1));
  EXPECT_EQ(ends_of(graph.all_edges()), ends_of(joined.all_edges()));
}

TEST(GraphFromParts, RejectsSizesThatDoNotAddUpAndEdgesBetweenParts) {
  const auto error_with = [](std::int64_t size, Relation relation, std::vector<std::int64_t> part_sizes) {
    return error_of([&] { Graph::from_parts({{"a", size}}, {{"r", "a", "a", relation}}, part_sizes); });
  };
  EXPECT_EQ(error_with(3, Relation::from_intervals(3, {{0, 2}, {0, 2}, {2, 3}}), {2, 1}), "no error");
  EXPECT_EQ(error_with(3, complete(3), {2, 2}), "from_parts: set \"a\" has 3 nodes, needs 4, the sum over its parts");
  EXPECT_EQ(error_with(3, complete(3), {4, -1}),
            "from_parts: size of set \"a\" in part 1 is -1, needs a number from 0 to 2147483647");
  EXPECT_EQ(error_with(3, complete(3), {2, 1}),
            "from_parts: edge 2 of \"r\" has source 2, needs one in [0, 2), the sources in part 0 of its destination");
  EXPECT_EQ(error_of([] {
              Graph::from_parts({{"a", 1}, {"b", 1}}, {}, {1, 1, 2});
            }),
            "from_parts: part_sizes has 3 numbers, needs one for each of 2 sets in each part");
}

TEST(GraphBatch, RejectsAPartWithOtherNames) {
  const Graph plain(causal(2));
  const Graph named({{"nodes", 2}}, {{"ee", "nodes", "nodes", causal(2)}});
  const Graph large({{"nodes", 2'000'000'000}}, {});

  EXPECT_EQ(error_of([&] {
              Graph::batch(std::vector<Graph>{plain, named});
            }),
            "batch: parts[1] has sets [nodes] and relations [ee from nodes to nodes], needs sets [nodes] and relations "
            "[edges from nodes to nodes] as parts[0] has");
  EXPECT_EQ(error_of([&] {
              Graph::batch(std::vector<Graph>{large, large});
            }),
            "batch: the number of nodes of all parts is 4000000000, needs a number from 0 to 2147483647");
}

TEST(Numbering, RejectsMoreEdgesThan64BitsHold) {
  EXPECT_EQ(error_of([] {
              Numbering(1, 2, {std::numeric_limits<std::int64_t>::max(), 1});
            }),
            "Graph: the number of edges is 9223372036854775807 + 1, needs at most 9223372036854775807");
}

}  // namespace
}  // namespace edgewise
