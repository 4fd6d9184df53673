// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <utility>
#include <vector>

#include "edgewise/graph/builders.h"
#include "edgewise/graph/graph.h"
#include "edgewise/graph/relation_ops.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/numbers.h"
#include "tests/fuzz/readers.h"

namespace edgewise::fuzz {
namespace {

NodeIndex next_node(Numbers& numbers) { return static_cast<NodeIndex>(numbers.next_large()); }

std::vector<NodeIndex> next_nodes(Numbers& numbers) {
  std::vector<NodeIndex> nodes;
  for (std::int64_t i = numbers.next_below(6); i > 0; --i) nodes.push_back(next_node(numbers));
  return nodes;
}

std::vector<std::int64_t> next_lengths(Numbers& numbers) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = numbers.next_below(6); i > 0; --i) lengths.push_back(numbers.next_large());
  return lengths;
}

/// Makes a relation of few rows whose sources may have the largest numbers that there are.
Relation make_large_relation(Numbers& numbers) {
  const std::int64_t kind = numbers.next_below(6);
  const std::int64_t num_sources = numbers.next_large();
  const std::int64_t num_destinations = numbers.next_below(6);
  switch (kind) {
    case 0: {
      std::vector<NodeIndex> sources = next_nodes(numbers);
      return Relation::from_edges(num_sources, num_destinations, {std::move(sources), numbers.list<NodeIndex>(3)});
    }
    case 1: {
      std::vector<EdgeIndex> row_begin = numbers.list<EdgeIndex>(num_destinations);
      return Relation::from_csr(num_sources, std::move(row_begin), next_nodes(numbers));
    }
    case 2:
      return bipartite(num_sources, num_destinations);
    case 3:
      return prefix(num_sources, next_lengths(numbers));
    case 4:
      return random_relation(num_sources, num_destinations, numbers.next_below(4), /*seed=*/1);
    default: {
      std::vector<Interval> rows;
      for (std::int64_t i = 0; i < num_destinations; ++i) {
        const NodeIndex begin = next_node(numbers);
        rows.push_back({begin, next_node(numbers)});
      }
      return Relation::from_intervals(num_sources, rows);
    }
  }
}

/// Checks what takes O(rows) time and memory in the interval form.
void check_large_relation(const Relation& relation, Numbers& numbers) {
  EdgeIndex sum = 0;
  for (std::int64_t row = 0; row < relation.num_destinations(); ++row) sum += relation.row_size(row);
  require(sum == relation.num_edges());
  require(relation.prefer_intervals() == relation && unite(relation, relation).num_edges() <= sum);
  accept_errors([&] {
    const Relation selected = select_rows(relation, numbers.list<NodeIndex>(2));
    require(selected.num_sources() == relation.num_sources());
  });
  accept_errors([&] { require(keep_rows(relation, numbers.list<NodeIndex>(2)).num_edges() <= sum); });
  accept_errors([&] {
    const EdgeIndex edge = numbers.next_large();
    require(keep_edges(relation, std::vector<EdgeIndex>{edge}).num_edges() == 1);
  });
  const std::vector<Relation> parts = {relation, relation};
  accept_errors([&] { require(join(parts).num_edges() == 2 * sum); });
  if (relation.form() != Relation::Form::kIntervals) return;
  accept_errors([&] {
    const std::vector<NodeIndex> destinations = numbers.list<NodeIndex>(2);
    const std::vector<NodeIndex> sources = next_nodes(numbers);
    require(select_nodes(relation, destinations, sources).num_sources() == std::ssize(sources));
  });
}

/// Checks that the last edge of a graph and of a batch end where the relation's last edge does.
void check_graph(const Relation& relation) {
  const Graph graph({{.name = "a", .size = relation.num_sources()}, {.name = "b", .size = relation.num_destinations()}},
                    {{.name = "ab", .source_set = "a", .destination_set = "b", .relation = relation}});
  require(graph.num_edges() == relation.num_edges());
  if (graph.num_edges() == 0) return;
  const std::vector<EdgeIndex> last = {graph.num_edges() - 1};
  const EdgeList ends = graph.find_edges(last);
  require(ends.sources[0] < relation.num_sources() && ends.destinations[0] >= relation.num_sources());
  require(graph.edge_subgraph(last).num_edges() == 1);

  const std::vector<Graph> parts = {graph, graph.with_relation("ab", relation)};
  accept_errors([&] {
    const Graph batch = Graph::batch(parts);
    const EdgeList ends_of_batch = batch.find_edges(std::vector<EdgeIndex>{last[0], batch.num_edges() - 1});
    require(ends_of_batch.sources[0] == ends.sources[0]);
    require(ends_of_batch.sources[1] - ends.sources[0] == graph.num_nodes());
    require(ends_of_batch.destinations[1] - ends.destinations[0] == graph.num_nodes());
  });
}

}  // namespace

void read_large_graph(std::string_view bytes) {
  Numbers numbers(bytes);
  accept_errors([&] {
    const Relation relation = make_large_relation(numbers);
    check_large_relation(relation, numbers);
    check_graph(relation);
  });
}

}  // namespace edgewise::fuzz
