// SPDX-License-Identifier: Apache-2.0
#include "edgewise/graph/neighbours.h"

#include <algorithm>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

/// Finds the edge from source `centre` in a row.
EdgeIndex find_edge(const RelationView& relation, NodeIndex row, NodeIndex centre) {
  EdgeIndex begin = relation.row_begin[row];
  const EdgeIndex end = relation.row_begin[row + 1];
  EdgeIndex edge = begin;
  if (relation.intervals != nullptr) {
    edge += centre - relation.intervals[row].begin;
  } else {
    edge = std::lower_bound(relation.sources + begin, relation.sources + end, centre) - relation.sources;
  }
  check(edge >= begin && edge < end && relation.source(row, edge) == centre,
        "find_neighbours: row {} has no source {}, needs its centre among its sources", row, centre);
  return edge;
}

}  // namespace

std::vector<NodeIndex> find_neighbours(const Relation& relation, std::span<const NodeIndex> rows,
                                       std::span<const NodeIndex> centres, NeighbourWindow window) {
  check(rows.size() == centres.size(), "find_neighbours: {} rows have {} centres, needs one each", rows.size(),
        centres.size());
  const RelationView view = relation.view();
  std::vector<NodeIndex> neighbours;
  neighbours.reserve(rows.size() * static_cast<std::size_t>(window.width()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const EdgeIndex centre = find_edge(view, rows[i], centres[i]);
    for (EdgeIndex edge = centre - window.before; edge <= centre + window.after; ++edge) {
      const bool exists = edge >= view.row_begin[rows[i]] && edge < view.row_begin[rows[i] + 1];
      neighbours.push_back(exists ? view.source(rows[i], edge) : kNoNode);
    }
  }
  return neighbours;
}

}  // namespace edgewise
