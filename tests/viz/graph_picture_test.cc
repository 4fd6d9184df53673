// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/graph_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>

#include "edgewise/viz/ponder_picture.h"
#include "tests/support/count_matches.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

GraphDrawing causal(std::int64_t nodes) {
  GraphDrawing graph{.title = "causal", .sets = {{.name = "nodes", .labels = {}}}, .relations = {}};
  graph.relations.push_back({.name = "edges", .source_set = 0, .destination_set = 0, .rows = {}});
  for (std::int64_t node = 0; node < nodes; ++node) {
    graph.sets[0].labels.push_back(std::to_string(node));
    graph.relations[0].rows.push_back({.destination = node, .begin = 0, .end = node + 1});
  }
  return graph;
}

/// A graph of two input and three output tokens with the relations of the graph tutorial.
GraphDrawing pair() {
  return {
      .title = "pair",
      .sets = {{.name = "encoder", .labels = {"a", "b"}}, {.name = "decoder", .labels = {"x", "y", "z"}}},
      .relations = {{.name = "ee", .source_set = 0, .destination_set = 0, .rows = {{0, 0, 2}, {1, 0, 2}}},
                    {.name = "ed", .source_set = 0, .destination_set = 1, .rows = {{0, 0, 2}, {1, 0, 2}, {2, 0, 2}}},
                    {.name = "dd", .source_set = 1, .destination_set = 1, .rows = {{0, 0, 1}, {1, 0, 2}, {2, 0, 3}}}}};
}

TEST(GraphPicture, HasALineForEachEdge) {
  EXPECT_EQ(count_matches(draw(causal(7)).body, "M[0-9]"), 28U);
  EXPECT_EQ(count_matches(draw(pair()).body, "M[0-9]"), 4U + 6U + 6U);
}

TEST(GraphPicture, ListsTheSourcesOfEachNodeInItsLabel) {
  EXPECT_THAT(draw(causal(7)).body, HasSubstr("aria-label=\"3 sees 0 … 3\""));
  EXPECT_THAT(draw(causal(7)).body, HasSubstr("aria-label=\"0 sees 0\""));
  EXPECT_THAT(draw(pair()).body, HasSubstr("aria-label=\"y sees encoder a … b, decoder x … y\""));
}

TEST(GraphPicture, HasOnePathPerRelationForTheEdgesIntoANode) {
  const std::string svg = draw(pair()).body;
  for (const char* node : {"0-0", "0-1"}) EXPECT_EQ(count_matches(svg, "<path data-node=\"" + std::string(node)), 1U);
  for (const char* node : {"1-0", "1-1", "1-2"})
    EXPECT_EQ(count_matches(svg, "<path data-node=\"" + std::string(node)), 2U);
}

TEST(GraphPicture, StaysWithinThePicture) {
  for (const GraphDrawing& graph : {causal(1), causal(40), causal(130), pair()}) {
    const SvgPicture picture = draw(graph);
    const std::regex place("c?[xy]=\"(-?[0-9.]+)\"");
    for (auto i = std::sregex_iterator(picture.body.begin(), picture.body.end(), place); i != std::sregex_iterator();
         ++i) {
      const double limit = i->str().find('x') != std::string::npos ? picture.width : picture.height;
      EXPECT_GE(std::stod((*i)[1]), 0) << graph.title << graph.num_nodes();
      EXPECT_LE(std::stod((*i)[1]), limit) << graph.title << graph.num_nodes();
    }
  }
}

TEST(GraphPicture, BecomesAMatrixAtAThousandNodesOrTenThousandEdges) {
  EXPECT_FALSE(is_large(causal(140)));
  EXPECT_TRUE(is_large(causal(141)));  // 10 011 edges
  GraphDrawing graph = causal(999);
  graph.relations[0].rows.clear();
  EXPECT_FALSE(is_large(graph));
  graph.sets[0].labels.emplace_back("999");
  EXPECT_TRUE(is_large(graph));
  EXPECT_THAT(draw(graph).body, Not(HasSubstr("class=\"node")));
}

/// Counts the filled cells of a matrix with cells of `size` pixels.
double filled_cells(const std::string& svg, double size) {
  double cells = 0;
  const std::regex run("M[0-9.e+-]+ [0-9.e+-]+h([0-9.]+)v");
  for (auto i = std::sregex_iterator(svg.begin(), svg.end(), run); i != std::sregex_iterator(); ++i) {
    cells += std::stod((*i)[1]) / size;
  }
  return cells;
}

TEST(AdjacencyPicture, FillsACellForEachEdge) {
  EXPECT_NEAR(filled_cells(draw_adjacency(causal(20)).body, 22), 210, 1e-9);
  EXPECT_NEAR(filled_cells(draw_adjacency(pair()).body, 22), 16, 1e-9);
}

TEST(AdjacencyPicture, HasOpacityByTheFractionOfEdgesInACell) {
  GraphDrawing graph = causal(2400);  // a cell is ten by ten nodes
  const std::string svg = draw_adjacency(graph).body;
  EXPECT_NEAR(filled_cells(svg, 2), 240.0 * 241 / 2, 1);
  EXPECT_EQ(count_matches(svg, "opacity=\"1\""), 1U) << "below the diagonal all edges exist";
  EXPECT_EQ(count_matches(svg, "<path class=\"cells"), 2U) << "on the diagonal 55 of 100 edges exist";
  EXPECT_LT(svg.size(), 30'000U);
}

TEST(AdjacencyPicture, PlacesThePartsOfABatchOneAfterTheOther) {
  GraphDrawing batch = pair();
  for (std::size_t set = 0; set < 2; ++set) {
    NodeSetDrawing& nodes = batch.sets[set];
    const std::vector<std::string> labels = nodes.labels;
    nodes.labels.insert(nodes.labels.end(), labels.begin(), labels.end());
    nodes.part_sizes = {std::ssize(labels), std::ssize(labels)};
  }
  batch.relations[0].rows = {{2, 2, 4}};
  batch.relations.resize(1);
  // The second part begins after the five nodes of the first.
  EXPECT_THAT(draw_adjacency(batch).body, HasSubstr("M110 110h44v22"));
}

TEST(GraphPicture, WritesTheGraphAsJson) {
  const nlohmann::json json = nlohmann::json::parse(json_of(pair()));
  EXPECT_EQ(json.at("sets")[1].at("nodes"), nlohmann::json({"x", "y", "z"}));
  EXPECT_EQ(json.at("relations")[2].at("name"), "dd");
  EXPECT_EQ(json.at("relations")[2].at("edges"), 6);
  EXPECT_EQ(json.at("relations")[2].at("rows")[2], nlohmann::json({2, 0, 3}));
}

TEST(GraphPicture, EscapesAllText) {
  GraphDrawing graph = pair();
  graph.title = "a < b";
  graph.sets[0].labels = {"</script><img onerror=alert(1)>", std::string("\"'&\x01\xff", 5)};
  for (const std::string& svg : {draw(graph).body, draw_adjacency(graph).body}) {
    EXPECT_THAT(svg, Not(HasSubstr("<img")));
    EXPECT_THAT(svg, Not(HasSubstr("</script")));
    EXPECT_EQ(svg.find('\x01'), std::string::npos);
    EXPECT_EQ(svg.find('\xff'), std::string::npos);
  }
}

TEST(ActiveSubgraph, HasTheEdgesIntoActiveNodes) {
  const std::vector<std::vector<std::int64_t>> steps = {{1, 3}, {2, 1, 2}};

  EXPECT_EQ(select_active_subgraph(pair(), steps, 1, SourceFilter::kAll).num_edges(), 16);
  const GraphDrawing second = select_active_subgraph(pair(), steps, 2, SourceFilter::kAll);
  EXPECT_EQ(second.num_edges(), 2 + 2 * 2 + (1 + 3));
  EXPECT_THAT(second.sets[0].faint, ElementsAre(true, false));
  EXPECT_THAT(second.sets[1].faint, ElementsAre(false, true, false));
  EXPECT_EQ(select_active_subgraph(pair(), steps, 2, SourceFilter::kActiveOnly).num_edges(), 1 + 2 * 2 + (1 + 2));
  EXPECT_EQ(select_active_subgraph(pair(), steps, 3, SourceFilter::kAll).num_edges(), 2);
}

TEST(ActiveSubgraph, IsDrawnAtThePositionsOfTheWholeGraph) {
  const GraphDrawing last = select_active_subgraph(pair(), {{1, 1}, {1, 1, 2}}, 2, SourceFilter::kAll);
  EXPECT_EQ(draw_part(last, pair()).height, draw(pair()).height);
  EXPECT_THAT(draw(pair()).body, HasSubstr(">dd: 6 edges, 10–15<"));
  EXPECT_THAT(draw_part(last, pair()).body, HasSubstr(">dd: 3 edges<"));
}

}  // namespace
}  // namespace edgewise
