// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/drawn_relation.h"

#include <algorithm>
#include <string>
#include <utility>

namespace edgewise {
namespace {

std::size_t number_of(const Graph& graph, const std::string& set) {
  const auto& sets = graph.sets();
  return static_cast<std::size_t>(std::ranges::find(sets, set, &Graph::NodeSet::name) - sets.begin());
}

DrawnSet drawn_set(const Graph& graph, const Graph::NodeSet& set) {
  DrawnSet drawn{.name = set.name, .labels = {}};
  for (std::int64_t part = 0; part < graph.num_parts(); ++part) {
    const std::vector<NodeIndex> nodes = graph.nodes(set.name, part);
    drawn.part_sizes.push_back(std::ssize(nodes));
    for (const NodeIndex node : nodes) drawn.labels.push_back(std::to_string(node));
  }
  return drawn;
}

}  // namespace

std::vector<SeenSources> rows_of(const Relation& relation) {
  const RelationView view = relation.view();
  std::vector<SeenSources> rows;
  for (std::int64_t row = 0; row < view.num_destinations; ++row) {
    for (EdgeIndex edge = view.row_begin[row]; edge < view.row_begin[row + 1];) {
      const EdgeIndex first = edge++;
      if (view.intervals != nullptr) edge = view.row_begin[row + 1];
      const NodeIndex begin = view.source(row, first);
      while (edge < view.row_begin[row + 1] && view.source(row, edge) == begin + (edge - first)) ++edge;
      rows.push_back({.destination = row, .begin = begin, .end = begin + (edge - first)});
    }
  }
  return rows;
}

GraphDrawing drawing_of(const Graph& graph, std::string title) {
  GraphDrawing drawing{.title = std::move(title), .sets = {}, .relations = {}};
  for (const Graph::NodeSet& set : graph.sets()) drawing.sets.push_back(drawn_set(graph, set));
  for (const Graph::NamedRelation& named : graph.relations()) {
    drawing.relations.push_back({.name = named.name,
                                 .source_set = number_of(graph, named.source_set),
                                 .destination_set = number_of(graph, named.destination_set),
                                 .rows = rows_of(named.relation)});
  }
  return drawing;
}

}  // namespace edgewise
