// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "edgewise/graph/relation.h"

// Results are intervals wherever they can be. Throws Error for a row, or an edge, that the relation does not have.
namespace edgewise {

/// Every edge turned round: destinations become sources. `edge[r]` is the number in the original relation of edge r
/// of the reversed one. Within a reversed row, edges go by ascending original number.
struct ReversedRelation {
  Relation relation;
  std::vector<EdgeIndex> edge;
};
ReversedRelation reverse(const Relation& relation);

/// Keeps all destinations and empties the rows not named: the graph of the nodes that are still active.
/// O(destinations) for intervals.
Relation keep_rows(const Relation& relation, std::span<const NodeIndex> rows);

/// A relation of `rows.size()` destinations: row i is row `rows[i]` of the original. For queries gathered into fewer
/// rows; sources stay whole. O(rows) for intervals.
Relation select_rows(const Relation& relation, std::span<const NodeIndex> rows);

/// The edges between some nodes: row i is row `destinations[i]` of the original, and source i its source `sources[i]`,
/// both ascending. For nodes gathered into fewer rows that see only one another. O(rows · log sources) for intervals.
Relation select_nodes(const Relation& relation, std::span<const NodeIndex> destinations,
                      std::span<const NodeIndex> sources);

/// Keeps exactly the edges of the given numbers (any order, no duplicates), renumbered in canonical order. Throws Error
/// for a number that is there twice.
Relation keep_edges(const Relation& relation, std::span<const EdgeIndex> edges);

/// The edges that are in either: sources ascending in each row, each pair of ends once. Both need the same sizes.
Relation unite(const Relation& a, const Relation& b);

/// Joins relations whose parts do not see each other: nodes and edges of part i are shifted by the sizes of the parts
/// before it. O(rows) if all are intervals, else O(edges).
Relation join(std::span<const Relation> parts);

}  // namespace edgewise
