// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "edgewise/graph/relation.h"

// Functions that make new relations. Results have the interval form if possible. The functions throw Error for a row or
// edge number that the relation does not have.

namespace edgewise {

/// A relation with all edges reversed. Edge r of `relation` is edge `edge[r]` of the original relation; within a row,
/// the original edge numbers ascend.
struct ReversedRelation {
  Relation relation;
  std::vector<EdgeIndex> edge;
};
ReversedRelation reverse(const Relation& relation);

/// Keeps all destinations, but removes the edges of the rows that are not in `rows`. O(destinations) for intervals.
Relation keep_rows(const Relation& relation, std::span<const NodeIndex> rows);

/// Returns a relation of `rows.size()` destinations, whose row i is row `rows[i]` of the original. The sources stay.
/// Use this for a gathered subset of the queries. O(rows) for intervals.
Relation select_rows(const Relation& relation, std::span<const NodeIndex> rows);

/// Keeps the edges between some nodes and renumbers these nodes: row i is row `destinations[i]` of the original, source
/// i is source `sources[i]`. `sources` must ascend. Use this for a gathered subset of queries and keys. O(rows · log
/// sources) for intervals.
Relation select_nodes(const Relation& relation, std::span<const NodeIndex> destinations,
                      std::span<const NodeIndex> sources);

/// Keeps the edges with the given numbers (in any order) and renumbers them. Throws Error for a duplicate number.
Relation keep_edges(const Relation& relation, std::span<const EdgeIndex> edges);

/// Returns the numbers of the edges of `all` whose ends `part` joins, too. The sources of each row of `all` and of
/// `part` must ascend; both relations have equal sizes, or else the function throws Error. O(edges of both).
std::vector<EdgeIndex> find_edges_of(const Relation& part, const Relation& all);

/// Returns the union of two relations of equal sizes: sources ascend in each row, and equal edges occur once.
Relation unite(const Relation& a, const Relation& b);

/// Joins relations into one relation without edges between the parts: the node and edge numbers of part i are shifted
/// by the sizes of the parts before it. O(rows) if all have the interval form, else O(edges).
Relation join(std::span<const Relation> parts);

/// Sorts edge numbers. Throws Error, which begins with `function`, for duplicates and numbers outside [0, num_edges).
std::vector<EdgeIndex> sort_edges(std::span<const EdgeIndex> edges, EdgeIndex num_edges, std::string_view function);

}  // namespace edgewise
