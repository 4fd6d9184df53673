// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace edgewise {

/// Node numbers have 32 bits and edge numbers 64: a batch never has two billion tokens, but it can have as many edges.
using NodeIndex = std::int32_t;
using EdgeIndex = std::int64_t;

/// The nodes [begin, end).
struct Interval {
  NodeIndex begin = 0;
  NodeIndex end = 0;

  friend bool operator==(const Interval&, const Interval&) = default;
};

/// Non-owning pointers into a Relation, for kernels.
struct RelationView {
  std::int64_t num_sources = 0;
  std::int64_t num_destinations = 0;
  const EdgeIndex* row_begin = nullptr;  // [num_destinations + 1], number of each row's first edge
  const Interval* intervals = nullptr;   // [num_destinations] in the interval form, else null
  const NodeIndex* sources = nullptr;    // [num_edges] in the CSR form, else null

  EdgeIndex num_edges() const { return num_destinations == 0 ? 0 : row_begin[num_destinations]; }

  /// Returns the source of an edge, which must lie in the row of `destination`.
  NodeIndex source(std::int64_t destination, EdgeIndex edge) const {
    return intervals != nullptr ? static_cast<NodeIndex>(intervals[destination].begin + (edge - row_begin[destination]))
                                : sources[edge];
  }
};

/// Calls `visit(source, destination, edge)` in the order of the edge numbers.
template <class Visit>
void for_each_edge(const RelationView& relation, Visit visit) {
  for (std::int64_t row = 0; row < relation.num_destinations; ++row) {
    for (EdgeIndex edge = relation.row_begin[row]; edge < relation.row_begin[row + 1]; ++edge) {
      visit(relation.source(row, edge), static_cast<NodeIndex>(row), edge);
    }
  }
}

/// Returns the rows as intervals if the sources of each row are consecutive, else nothing. O(edges) in the CSR form.
inline std::optional<std::vector<Interval>> rows_as_intervals(const RelationView& relation) {
  if (relation.intervals != nullptr) {
    return std::vector<Interval>(relation.intervals, relation.intervals + relation.num_destinations);
  }
  std::vector<Interval> rows(relation.num_destinations);
  for (std::int64_t row = 0; row < relation.num_destinations; ++row) {
    const EdgeIndex begin = relation.row_begin[row];
    const EdgeIndex end = relation.row_begin[row + 1];
    if (begin == end) continue;
    const NodeIndex first = relation.sources[begin];
    NodeIndex next = first;
    for (EdgeIndex edge = begin; edge < end; ++edge) {
      if (relation.sources[edge] != next) return std::nullopt;
      ++next;  // at most the number of sources, a NodeIndex
    }
    rows[row] = {.begin = first, .end = next};
  }
  return rows;
}

}  // namespace edgewise
