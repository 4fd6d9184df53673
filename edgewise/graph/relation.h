// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <typeindex>
#include <utility>
#include <vector>

#include "edgewise/graph/relation_view.h"

// The edges of one kind, as plain data: S sources, D destinations and E edges, each numbered from 0. A relation stands
// in the place of an attention mask: destination d attends to source s if there is an edge from s to d, and to nothing
// else. Memory is O(D) in the interval form and O(D + E) in the CSR form; a function that takes longer tells its time.
// Threads can share a relation, because it never changes. A function checks its arguments, and throws Error, whose text
// begins with the function's name, before it makes anything.
namespace edgewise {

/// The sources and destinations of edges, in the order of the edge numbers.
struct EdgeList {
  std::vector<NodeIndex> sources;
  std::vector<NodeIndex> destinations;
};

struct RelationWithOrder;

/// The edges of one kind, from source nodes to destination nodes: a destination attends to its sources.
///
/// A row is the edges into one destination. Edges are numbered row by row, and within a row in the order in which they
/// were given. Tensors with a row for each edge, such as edge biases, have the order of these numbers. The builders of
/// builders.h order them by source. The storage has one of two forms: an interval of sources per row (O(1) memory per
/// row), or compressed sparse rows (CSR): a list of sources per row. A relation never changes. Copies share their
/// storage and are cheap.
class Relation {
 public:
  enum class Form { kIntervals, kCsr };

  /// Makes a relation without nodes and edges.
  Relation();

  /// Row d has the sources of the interval `rows[d]`. Throws Error unless 0 <= begin <= end <= num_sources.
  static Relation from_intervals(std::int64_t num_sources, std::vector<Interval> rows);

  /// Row d has the sources `sources[row_begin[d]] … sources[row_begin[d + 1] - 1]`. Equal sources are separate edges.
  static Relation from_csr(std::int64_t num_sources, std::vector<EdgeIndex> row_begin, std::vector<NodeIndex> sources);

  /// Row d has the sources that `append_sources(d, sources)` appends to a list. Has the interval form if possible.
  template <class AppendSources>
  static Relation from_rows(std::int64_t num_sources, std::int64_t num_rows, AppendSources append_sources) {
    std::vector<EdgeIndex> row_begin = {0};
    row_begin.reserve(static_cast<std::size_t>(num_rows) + 1);
    std::vector<NodeIndex> sources;
    for (std::int64_t row = 0; row < num_rows; ++row) {
      append_sources(row, sources);
      row_begin.push_back(std::ssize(sources));
    }
    return from_csr(num_sources, std::move(row_begin), std::move(sources)).prefer_intervals();
  }

  /// Sorts edges into rows; the edges of a row keep their order. The relation thus numbers the edges otherwise than
  /// `edges`, unless the destinations ascend. O(nodes + edges), a counting sort.
  static Relation from_edges(std::int64_t num_sources, std::int64_t num_destinations, const EdgeList& edges);

  /// Makes the relation of from_edges(), and the order of its edges: `bias.index_select(0, at::tensor(order))` brings a
  /// tensor with a row for each of `edges` into the order of the relation.
  static RelationWithOrder from_edges_with_order(std::int64_t num_sources, std::int64_t num_destinations,
                                                 const EdgeList& edges);

  Form form() const;
  std::int64_t num_sources() const;
  std::int64_t num_destinations() const;
  EdgeIndex num_edges() const;
  EdgeIndex row_size(std::int64_t destination) const;

  /// Returns the number of each row's first edge, and num_edges() at the end: num_destinations() + 1 entries.
  std::span<const EdgeIndex> row_begin() const;

  /// Returns pointers for kernels, which are valid as long as any copy of this relation exists.
  RelationView view() const;

  /// Returns T(view()), for example a plan for kernels. The first call stores the value with this relation and its
  /// copies; the reference is valid as long as any copy exists. Thread-safe: other threads wait for the first call.
  template <class T>
  const T& derive() const {
    const Make make = [this]() -> std::shared_ptr<const void> { return std::make_shared<const T>(view()); };
    return *static_cast<const T*>(find_or_make(typeid(T), make));
  }

  /// Returns the ends of all edges, in the order of their numbers. O(edges), even in the interval form.
  EdgeList edges() const;

  /// Returns an equal relation in CSR form. O(edges).
  Relation to_csr() const;

  /// Returns an equal relation in interval form if the sources of each row are consecutive, else this relation.
  Relation prefer_intervals() const;

  /// Compares the sizes, the edges and their order. The forms may differ.
  friend bool operator==(const Relation& a, const Relation& b);

 private:
  struct Storage;
  using Make = std::function<std::shared_ptr<const void>()>;
  explicit Relation(std::shared_ptr<const Storage> storage);
  const void* find_or_make(std::type_index type, const Make& make) const;
  std::shared_ptr<const Storage> storage_;
};

struct RelationWithOrder {
  Relation relation;
  std::vector<EdgeIndex> order;  // edge e of the relation is edge order[e] of the list
};

}  // namespace edgewise
