// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/graph/batch.h"
#include "edgewise/message/message_graph.h"
#include "tests/support/error_of.h"
#include "tests/support/relation_zoo.h"

namespace edgewise {

inline at::Tensor numbers(std::initializer_list<std::int64_t> values) {
  return at::tensor(std::vector<std::int64_t>(values), at::kLong);
}

inline at::Tensor random(at::IntArrayRef shape) { return at::randn(shape, at::kDouble); }

struct NamedGraph {
  std::string name;
  Graph graph;
};

/// Returns graphs of two node sets with each relation of the zoo, and batches of sentences, whose decoder nodes are
/// destinations of two relations.
inline std::vector<NamedGraph> graph_zoo() {
  std::vector<NamedGraph> zoo;
  for (const NamedRelation& named : relation_zoo()) {
    const Relation& relation = named.relation;
    zoo.push_back({named.name, Graph({{"from", relation.num_sources()}, {"to", relation.num_destinations()}},
                                     {{"edges", "from", "to", relation}})});
  }
  const std::vector<PairLengths> lengths = {{3, 4}, {1, 2}, {5, 1}, {2, 6}};
  zoo.push_back({"sentence pairs", make_batch_graph(lengths)});
  const std::vector<std::int64_t> inputs = {4, 1, 3};
  zoo.push_back({"sentences to translate", make_input_graph(inputs)});
  return zoo;
}

/// Selects about half of the numbers below `count` by a hash, in ascending order.
inline at::Tensor half_of(std::int64_t count) {
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < count; ++i) {
    if ((i * 2654435761u >> 7) % 2 == 0) chosen.push_back(i);
  }
  return at::tensor(chosen, at::kLong);
}

inline void expect_equal(const at::Tensor& actual, const at::Tensor& expected) {
  ASSERT_EQ(actual.sizes().vec(), expected.sizes().vec());
  ASSERT_EQ(actual.scalar_type(), expected.scalar_type());
  EXPECT_TRUE(at::equal(actual, expected)) << "actual\n" << actual << "\nexpected\n" << expected;
}

inline void expect_near(const at::Tensor& actual, const at::Tensor& expected, double tolerance) {
  ASSERT_EQ(actual.sizes().vec(), expected.sizes().vec());
  if (actual.numel() == 0) return;
  EXPECT_LE((actual - expected).abs().max().item<double>(), tolerance);
}

// Shapes: N = nodes, E = edges, H = heads, K = head size.

inline constexpr std::int64_t kHeads = 2;
inline constexpr std::int64_t kHeadSize = 3;

/// Returns a graph with random node columns k, q, v [N, H, K] and edge column score [E, H, 1].
inline MessageGraph with_columns(const Graph& graph) {
  at::manual_seed(5);
  MessageGraph g(graph);
  for (const char* name : {"k", "q", "v"}) g.ndata().set(name, random({graph.num_nodes(), kHeads, kHeadSize}));
  g.edata().set("score", random({graph.num_edges(), kHeads, 1}));
  return g;
}

// message_func and reduce_func of the graph tutorial (docs/sources.md).
inline Columns message_func(const EdgeBatch& edges) {
  return {{"score", (edges.source("k") * edges.destination("q")).sum(-1, /*keepdim=*/true)}, {"v", edges.source("v")}};
}

inline Columns reduce_func(const NodeBatch& nodes) {
  const at::Tensor v = nodes.mailbox("v");
  const at::Tensor att = at::softmax(nodes.mailbox("score") / std::sqrt(static_cast<double>(kHeadSize)), 1);
  return {{"dx", (att * v).sum(1)}};
}

}  // namespace edgewise
