// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/graph/relation.h"

namespace edgewise {

/// Named sets of nodes and named relations between them, as in a DGL heterograph, with one numbering of all nodes and
/// one of all edges.
///
/// Nodes are numbered set by set and edges relation by relation, in the order given. A batch joins graphs ("parts"):
/// the numbers of each part are shifted by the sizes of the parts before it. These numbers are global. A Relation has
/// local numbers instead, which count the nodes of one set over all parts: a node's local number is its row in a tensor
/// that has one row per node of the set.
///
/// Example: a pair of 9 and 10 tokens has encoder nodes 0–8 and decoder nodes 9–18, and its edges are 0–80 in ee,
/// 81–170 in ed and 171–225 in dd.
///
/// A graph never changes. Copies share their storage and are cheap.
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

  /// Makes a graph without sets, relations or parts.
  Graph();

  /// Throws Error for a duplicate name, an unknown set, or a relation whose sizes differ from its sets' sizes.
  Graph(std::vector<NodeSet> sets, std::vector<NamedRelation> relations);

  /// Makes a graph of several parts, equal to the batch() of its parts. `part_sizes[part * sets.size() + set]` is the
  /// number of nodes of a set in a part, and the size of a set is the sum over all parts. The relations hold the edges
  /// of all parts, with local numbers. Takes O(nodes + parts) time if all relations have the interval form. Throws
  /// Error as the constructor does, for sizes that do not add up, and for an edge that joins two parts.
  static Graph from_parts(std::vector<NodeSet> sets, std::vector<NamedRelation> relations,
                          std::vector<std::int64_t> part_sizes);

  /// Makes a graph with one set "nodes" and one relation "edges". Throws Error if the relation's
  /// numbers of sources and destinations differ.
  explicit Graph(Relation relation);

  /// Joins graphs into one graph without edges between the parts. If some of `parts` are batches, their parts become
  /// parts of the new batch. Returns Graph() if `parts` is empty. Takes O(nodes) time if all relations have the
  /// interval form. Throws Error if the graphs differ in the names of their sets or relations.
  static Graph batch(std::span<const Graph> parts);

  /// Returns a batch of zero graphs whose sets and relations have the same names as those of this graph.
  Graph without_parts() const;

  std::int64_t num_nodes() const;
  EdgeIndex num_edges() const;
  std::int64_t num_parts() const;
  const std::vector<NodeSet>& sets() const;             // sizes are totals over all parts
  const std::vector<NamedRelation>& relations() const;  // edges of all parts, with local node numbers
  const Relation& relation(std::string_view name) const;
  std::int64_t set_size(std::string_view set) const;

  /// Returns the global numbers of a set's nodes in all parts, in the order of their local numbers.
  std::vector<NodeIndex> nodes(std::string_view set) const;
  /// Returns the global numbers of a set's nodes in one part.
  std::vector<NodeIndex> nodes(std::string_view set, std::int64_t part) const;

  /// Returns the numbers of a relation's edges in all parts or in one part, in the order of the relation.
  std::vector<EdgeIndex> edges(std::string_view relation) const;
  std::vector<EdgeIndex> edges(std::string_view relation, std::int64_t part) const;

  /// Returns the ends of the edges with these numbers, as global node numbers. Takes O(log parts + log rows) time per
  /// edge.
  EdgeList find_edges(std::span<const EdgeIndex> edges) const;
  /// Returns the ends of all edges as global node numbers, in the order of the edge numbers.
  EdgeList all_edges() const;

  /// Returns the graph with one relation replaced, for example a complete relation by a window. Edges of later
  /// relations get new numbers. Throws Error if an edge of the new relation joins two parts.
  Graph with_relation(std::string_view name, Relation relation) const;

  /// Returns the graph with only the edges of these numbers. Nodes keep their numbers; edges get new numbers.
  Graph edge_subgraph(std::span<const EdgeIndex> edges) const;

 private:
  struct Storage;
  explicit Graph(std::shared_ptr<const Storage> storage);
  static Graph make(std::vector<NodeSet> sets, std::vector<NamedRelation> relations, std::int64_t num_parts,
                    std::vector<std::int64_t> counts, std::string_view function);
  std::shared_ptr<const Storage> storage_;
};

}  // namespace edgewise
