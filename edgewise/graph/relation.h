// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <typeindex>
#include <vector>

#include "edgewise/graph/derived_values.h"
#include "edgewise/graph/relation_view.h"

namespace edgewise {

/// The ends of edges, in the order of their numbers.
struct EdgeList {
  std::vector<NodeIndex> sources;
  std::vector<NodeIndex> destinations;
};

/// The edges of one kind, from source nodes to destination nodes: who may look at whom.
///
/// Edges are numbered row by row (a row is the edges into one destination), and in a row as they were given, which
/// builders do by ascending source. A row is stored as an interval of sources (O(1) a row), or as a list of them.
/// A relation never changes; copies share their storage and are cheap.
class Relation {
 public:
  enum class Form { kIntervals, kRows };

  /// No nodes and no edges.
  Relation();

  /// Row d sees the sources of `rows[d]`. Throws Error for an interval that is reversed or leaves [0, num_sources).
  static Relation from_intervals(std::int64_t num_sources, std::vector<Interval> rows);

  /// Row d sees `sources[row_begin[d]] … sources[row_begin[d + 1] - 1]`. Duplicates are edges of their own.
  static Relation from_rows(std::int64_t num_sources, std::vector<EdgeIndex> row_begin, std::vector<NodeIndex> sources);

  /// Edges in any order; those of one row keep theirs (counting sort, O(nodes + edges)).
  static Relation from_edges(std::int64_t num_sources, std::int64_t num_destinations, const EdgeList& edges);

  Form form() const;
  std::int64_t num_sources() const;
  std::int64_t num_destinations() const;
  EdgeIndex num_edges() const;
  EdgeIndex row_size(std::int64_t destination) const;

  /// Number of the first edge of each row, and one past the last: num_destinations + 1 entries.
  std::span<const EdgeIndex> row_begin() const;

  /// For kernels; valid while any copy of this relation lives.
  RelationView view() const;

  /// T(view()), made when first asked for and kept with this relation and its copies: what others derive from a
  /// relation at a cost and need often, such as a plan for kernels. Valid while any copy lives. Any thread may ask;
  /// others that ask for it meanwhile wait.
  template <class T>
  const T& derived() const {
    const DerivedValues::Make make = [this]() -> std::shared_ptr<const void> {
      return std::make_shared<const T>(view());
    };
    return *static_cast<const T*>(derived_values().get(typeid(T), make));
  }

  /// Ends of all edges, in canonical order. O(edges): only for who really needs a list.
  EdgeList edges() const;

  /// The same edges under the same numbers, as lists. O(edges).
  Relation to_rows() const;

  /// The same edges, as intervals if each row is an ascending run of sources; else itself.
  Relation simplified() const;

  /// Whether both have the same sizes and edges in the same order, whatever their form.
  friend bool operator==(const Relation& a, const Relation& b);

 private:
  struct Storage;
  explicit Relation(std::shared_ptr<const Storage> storage);
  DerivedValues& derived_values() const;
  std::shared_ptr<const Storage> storage_;
};

}  // namespace edgewise
