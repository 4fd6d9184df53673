// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "edgewise/viz/svg.h"

namespace edgewise {

/// A node set, drawn as a row of nodes. Its parts (the sentences of a batch) have gaps between them.
struct NodeSetDrawing {
  std::string name;
  std::vector<std::string> labels;            // one per node
  std::vector<std::int64_t> part_sizes = {};  // nodes per part; empty: one part
  std::vector<bool> faint = {};               // whether each node is faint, as halted nodes are; empty: none is
};

/// The edges into one destination from the sources [begin, end). Nodes are counted from 0 within their sets.
struct IntervalRow {
  std::int64_t destination = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

struct RelationDrawing {
  std::string name;
  std::size_t source_set = 0;
  std::size_t destination_set = 0;
  std::vector<IntervalRow> rows;

  std::int64_t num_edges() const;
};

/// A graph of one or two node sets. In a graph of one set, edges are arcs: above the nodes if they lead to later nodes,
/// below if they lead to earlier nodes. In a graph of two sets, the first set is above the second; edges within a set
/// are arcs on its outer side, and edges between the sets are straight. The index of a relation is its colour in the
/// palette.
struct GraphDrawing {
  std::string title;
  std::vector<NodeSetDrawing> sets;
  std::vector<RelationDrawing> relations;

  std::int64_t num_nodes() const;
  std::int64_t num_edges() const;

  /// Returns "ee: 81 edges", or "81 edges" when the graph has one relation.
  std::string describe_edges(std::size_t relation) const;
};

/// Returns whether the graph has at least 1000 nodes or 10 000 edges, so that single edges would not be visible.
bool is_large(const GraphDrawing& graph);

/// Draws nodes and edges or, for a large graph, the adjacency matrix. Node 3 of set 0 is an element with the attribute
/// data-node="0-3" and a label that lists its sources. All edges of one relation into that node are one path with the
/// same attribute.
SvgPicture draw(const GraphDrawing& graph);

/// Draws a subgraph of `whole`, with nodes and edges at the same coordinates as in draw(whole).
SvgPicture draw_part(const GraphDrawing& part, const GraphDrawing& whole);

/// Draws the adjacency matrix: rows are destinations, columns are sources, ordered by part and within a part by set. A
/// cell may contain several nodes; its opacity grows with the fraction of its possible edges that exist.
SvgPicture draw_adjacency(const GraphDrawing& graph);

/// Writes the sets with their node labels, and each relation with its rows [destination, begin, end].
std::string json_of(const GraphDrawing& graph);

}  // namespace edgewise
