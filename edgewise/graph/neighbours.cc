// SPDX-License-Identifier: Apache-2.0
#include "edgewise/graph/neighbours.h"

#include <algorithm>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

/// The edge of a row whose source is `centre`.
EdgeIndex edge_from(const RelationView& relation, NodeIndex row, NodeIndex centre) {
  EdgeIndex begin = relation.row_begin[row];
  const EdgeIndex end = relation.row_begin[row + 1];
  EdgeIndex edge = begin;
  if (relation.intervals != nullptr) {
    edge += centre - relation.intervals[row].begin;
  } else {
    edge = std::lower_bound(relation.sources + begin, relation.sources + end, centre) - relation.sources;
  }
  check(edge >= begin && edge < end && relation.source(row, edge) == centre,
        "neighbours: row {} does not see {}, needs to see its centre", row, centre);
  return edge;
}

}  // namespace

std::vector<NodeIndex> neighbours(const Relation& relation, std::span<const NodeIndex> rows,
                                  std::span<const NodeIndex> centres, Reach reach) {
  check(rows.size() == centres.size(), "neighbours: {} rows have {} centres, one each is needed", rows.size(),
        centres.size());
  const RelationView view = relation.view();
  std::vector<NodeIndex> found;
  found.reserve(rows.size() * static_cast<std::size_t>(reach.width()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const EdgeIndex centre = edge_from(view, rows[i], centres[i]);
    for (EdgeIndex edge = centre - reach.before; edge <= centre + reach.after; ++edge) {
      const bool is_there = edge >= view.row_begin[rows[i]] && edge < view.row_begin[rows[i] + 1];
      found.push_back(is_there ? view.source(rows[i], edge) : kNoNode);
    }
  }
  return found;
}

}  // namespace edgewise
