// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/graph/relation.h"

namespace edgewise {

/// Nodes in named sets, and named relations between the sets, under one numbering.
///
/// Nodes are numbered set by set and edges relation by relation, in the order given. A batch joins graphs: the numbers
/// of each part are shifted by the sizes of the parts before it, so a set's nodes, and a relation's edges, are one
/// range of numbers per part. A relation itself counts nodes within its sets ("local" numbers: the row of a node in a
/// tensor that holds just its set), which is how fused attention reads it.
///
/// For a pair of 9 and 10 tokens: encoder 0–8, decoder 9–18; ee 0–80, ed 81–170, dd 171–225.
///
/// A graph never changes; copies share their storage and are cheap.
class Graph {
 public:
  struct NodeSet {
    std::string name;
    std::int64_t size = 0;
  };
  struct NamedRelation {
    std::string name;
    std::string source_set;
    std::string destination_set;
    Relation relation;
  };

  /// No sets, no relations and no parts.
  Graph();

  /// Throws Error for a name used twice, an unknown set, or a relation whose sizes are not those of its sets.
  Graph(std::vector<NodeSet> sets, std::vector<NamedRelation> relations);

  /// One set "nodes" and one relation "edges" on it. Throws Error unless the relation is square.
  explicit Graph(Relation relation);

  /// Joins graphs of the same sets and relations into one whose parts do not see each other. A batch's parts become
  /// parts of the new batch; a batch of nothing is Graph(). O(nodes) when all relations are intervals. Throws Error
  /// when the names differ.
  static Graph batch(std::span<const Graph> parts);

  /// The same sets and relations, but no part: what a batch of nothing is when its kind is known.
  Graph without_parts() const;

  std::int64_t num_nodes() const;
  EdgeIndex num_edges() const;
  std::int64_t num_parts() const;
  const std::vector<NodeSet>& sets() const;             // sizes over all parts
  const std::vector<NamedRelation>& relations() const;  // joined over all parts, local numbers
  const Relation& relation(std::string_view name) const;
  std::int64_t set_size(std::string_view set) const;

  /// Numbers of a set's nodes, of all parts, in local order.
  std::vector<NodeIndex> nodes(std::string_view set) const;
  /// Of one part only.
  std::vector<NodeIndex> nodes(std::string_view set, std::int64_t part) const;

  /// Numbers of a relation's edges, of all parts, in the order of the relation.
  std::vector<EdgeIndex> edges(std::string_view relation) const;
  std::vector<EdgeIndex> edges(std::string_view relation, std::int64_t part) const;

  /// Ends of the edges with these numbers, in node numbers of the whole graph. O(log parts + log rows) an edge.
  EdgeList find_edges(std::span<const EdgeIndex> edges) const;
  /// Ends of all edges, in the order of their numbers.
  EdgeList all_edges() const;

  /// The same nodes with one relation replaced: a window instead of the complete one, say. Later edges get new numbers.
  /// Throws Error when an edge of the new relation joins two parts.
  Graph with_relation(std::string_view name, Relation relation) const;

  /// Keeps only the given edges, by their numbers in this graph; nodes keep their numbers, edges are counted anew.
  Graph edge_subgraph(std::span<const EdgeIndex> edges) const;

 private:
  struct Storage;
  explicit Graph(std::shared_ptr<const Storage> storage);
  std::shared_ptr<const Storage> storage_;
};

}  // namespace edgewise
