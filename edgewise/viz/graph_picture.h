// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "edgewise/viz/svg.h"

// Who may look at whom, as a picture: nodes in rows and edges between them, or, of a large graph, its adjacency matrix.

namespace edgewise {

/// A row of nodes. Its parts (the sentences of a batch) stand apart.
struct DrawnSet {
  std::string name;
  std::vector<std::string> labels;            // a node's text each
  std::vector<std::int64_t> part_sizes = {};  // of as many nodes each; empty: one part
  std::vector<bool> faint = {};               // nodes that take no part (those that have halted); empty: none
};

/// The sources [begin, end) that one destination sees, in numbers within their sets.
struct SeenSources {
  std::int64_t destination = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

struct DrawnRelation {
  std::string name;
  std::size_t source_set = 0;
  std::size_t destination_set = 0;
  std::vector<SeenSources> rows;

  std::int64_t num_edges() const;
};

/// One set, whose edges are arcs: above the nodes to later ones, below to earlier ones. Or two, input above output:
/// edges within a set are arcs on its far side, those between the sets are straight. A relation's number is its colour.
struct GraphDrawing {
  std::string title;
  std::vector<DrawnSet> sets;
  std::vector<DrawnRelation> relations;

  std::int64_t num_nodes() const;
  std::int64_t num_edges() const;

  /// "ee: 81 edges", or, where there is one relation, without its name.
  std::string edges_in_words(std::size_t relation) const;
};

/// From so many nodes or edges on, lines are no longer told from each other.
inline constexpr std::int64_t kNodesOfAdjacency = 1000;
inline constexpr std::int64_t kEdgesOfAdjacency = 10'000;
bool is_large(const GraphDrawing& graph);

/// Nodes and edges, or, of a large graph, its matrix. Node 3 of the first set is an element with data-node="0-3",
/// labelled with what it sees; the edges into it are one path of each relation with the same.
SvgPicture draw(const GraphDrawing& graph);

/// Some of a graph's edges, all where they are in a drawing of the whole graph.
SvgPicture draw_part(const GraphDrawing& part, const GraphDrawing& whole);

/// Destinations downwards, sources across, the sets one after the other. Where several nodes share a cell, it is as
/// strong as it has edges, of those that it could have.
SvgPicture draw_adjacency(const GraphDrawing& graph);

/// Sets with their nodes' texts; of each relation rows of [destination, begin, end]: it sees the sources from begin to
/// before end.
std::string json_of(const GraphDrawing& graph);

}  // namespace edgewise
