// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/graph/graph.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/numbers.h"
#include "tests/fuzz/readers.h"

namespace edgewise::fuzz {
namespace {

const std::vector<std::string> kNames = {"a", "b", "c"};

std::string next_name(Numbers& numbers) { return kNames[static_cast<std::size_t>(numbers.next_below(3))]; }

/// Makes a relation in CSR or interval form. Some edges have numbers out of range.
Relation make_relation(Numbers& numbers, std::int64_t num_sources, std::int64_t num_destinations) {
  if (numbers.next_below(2) == 0) {
    const std::int64_t count = numbers.next();
    EdgeList edges;
    for (std::int64_t i = 0; i < count; ++i) {
      edges.sources.push_back(static_cast<NodeIndex>(numbers.next()));
      edges.destinations.push_back(static_cast<NodeIndex>(numbers.next()));
    }
    return Relation::from_edges(num_sources, num_destinations, edges);
  }
  std::vector<Interval> rows;
  for (std::int64_t i = 0; i < num_destinations; ++i) {
    const auto begin = static_cast<NodeIndex>(numbers.next());
    rows.push_back({begin, static_cast<NodeIndex>(numbers.next())});
  }
  return Relation::from_intervals(num_sources, rows);
}

Graph make_graph(Numbers& numbers) {
  std::vector<Graph::NodeSet> sets;
  for (std::int64_t i = numbers.next_below(3); i >= 0; --i) sets.push_back({next_name(numbers), numbers.next()});
  const auto next_set = [&] { return sets[static_cast<std::size_t>(numbers.next_below(std::ssize(sets)))]; };
  std::vector<Graph::NamedRelation> relations;
  for (std::int64_t i = numbers.next_below(3); i > 0; --i) {
    const Graph::NodeSet sources = next_set();
    const Graph::NodeSet destinations = next_set();
    relations.push_back(
        {next_name(numbers), sources.name, destinations.name, make_relation(numbers, sources.size, destinations.size)});
  }
  return Graph(std::move(sets), std::move(relations));
}

/// Returns a graph with the sets and relations of `graph`, and other nodes and edges.
Graph make_similar_graph(const Graph& graph, Numbers& numbers) {
  std::vector<Graph::NodeSet> sets = graph.sets();
  for (Graph::NodeSet& set : sets) set.size = numbers.next();
  const auto size_of = [&](const std::string& name) {
    return std::ranges::find(sets, name, &Graph::NodeSet::name)->size;
  };
  std::vector<Graph::NamedRelation> relations = graph.relations();
  for (Graph::NamedRelation& named : relations) {
    named.relation = make_relation(numbers, size_of(named.source_set), size_of(named.destination_set));
  }
  return Graph(std::move(sets), std::move(relations));
}

bool are_equal(const EdgeList& a, const EdgeList& b) {
  return a.sources == b.sources && a.destinations == b.destinations;
}

void require_equal(const Graph& a, const Graph& b) {
  require(a.num_parts() == b.num_parts() && a.num_nodes() == b.num_nodes() && a.num_edges() == b.num_edges());
  require(a.sets().size() == b.sets().size() && a.relations().size() == b.relations().size());
  for (std::size_t i = 0; i < a.relations().size(); ++i) {
    require(a.relations()[i].relation == b.relations()[i].relation);
    for (std::int64_t part = 0; part < a.num_parts(); ++part) {
      require(a.edges(a.relations()[i].name, part) == b.edges(b.relations()[i].name, part));
    }
  }
  for (const Graph::NodeSet& set : a.sets()) require(a.nodes(set.name) == b.nodes(set.name));
  require(are_equal(a.all_edges(), b.all_edges()));
}

/// Returns the edges of the graphs one after another, with the numbers that the nodes have in a batch.
EdgeList edges_of_parts(const std::vector<Graph>& parts) {
  EdgeList edges;
  NodeIndex first_node = 0;
  for (const Graph& part : parts) {
    const EdgeList own = part.all_edges();
    for (const NodeIndex source : own.sources) edges.sources.push_back(source + first_node);
    for (const NodeIndex destination : own.destinations) edges.destinations.push_back(destination + first_node);
    first_node += static_cast<NodeIndex>(part.num_nodes());
  }
  return edges;
}

void check_batch(const std::vector<Graph>& parts, Numbers& numbers) {
  const Graph batch = Graph::batch(parts);
  require(batch.num_parts() == std::ssize(parts));
  require(are_equal(batch.all_edges(), edges_of_parts(parts)));
  std::vector<EdgeIndex> all(static_cast<std::size_t>(batch.num_edges()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<EdgeIndex>(i);
  require(are_equal(batch.find_edges(all), batch.all_edges()));
  require_equal(batch.edge_subgraph(all), batch);

  const auto half = parts.begin() + static_cast<std::ptrdiff_t>(parts.size() / 2);
  if (half != parts.begin()) {
    const std::vector<Graph> batches = {Graph::batch(std::vector<Graph>(parts.begin(), half)),
                                        Graph::batch(std::vector<Graph>(half, parts.end()))};
    require_equal(Graph::batch(batches), batch);
  }
  std::vector<std::int64_t> sizes;
  for (const Graph& part : parts) {
    for (const Graph::NodeSet& set : part.sets()) sizes.push_back(set.size);
  }
  require_equal(Graph::from_parts(batch.sets(), batch.relations(), sizes), batch);
  require(batch.without_parts().num_nodes() == 0 && batch.without_parts().num_parts() == 0);

  accept_errors([&] { batch.edge_subgraph(numbers.list<EdgeIndex>(numbers.next())).all_edges(); });
  accept_errors([&] { batch.find_edges(numbers.list<EdgeIndex>(numbers.next())); });
  accept_errors([&] {
    const std::string source_set = next_name(numbers);
    const Relation relation = make_relation(numbers, batch.set_size(source_set), batch.set_size(next_name(numbers)));
    require(batch.with_relation(next_name(numbers), relation).num_nodes() == batch.num_nodes());
  });
}

}  // namespace

void read_batch(std::string_view bytes) {
  Numbers numbers(bytes);
  std::vector<Graph> parts;
  accept_errors([&] {
    const std::int64_t num_parts = 1 + numbers.next_below(4);
    while (std::ssize(parts) < num_parts) {
      const bool is_similar = !parts.empty() && numbers.next_below(8) > 0;
      parts.push_back(is_similar ? make_similar_graph(parts[0], numbers) : make_graph(numbers));
    }
  });
  if (parts.empty()) return;
  if (accept_errors([&] { Graph::batch(parts); })) check_batch(parts, numbers);
}

}  // namespace edgewise::fuzz
