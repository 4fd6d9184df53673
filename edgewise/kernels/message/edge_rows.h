// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "edgewise/graph/relation_view.h"

// The edges of a relation in the order of the rows of an output: by destination, or by source.
namespace edgewise::kernels {

/// A row, or a part of a long row: the entries [begin, end) of EdgeRows.
struct RowPiece {
  std::int64_t row;
  EdgeIndex begin;
  EdgeIndex end;
  std::int64_t partial;  // the index of the piece's partial result, or -1 for a whole row
};

/// The pieces of a row that has several: those with the partial results [first_partial, last_partial).
struct LongRow {
  std::int64_t row;
  std::int64_t first_partial;
  std::int64_t last_partial;
};

/// A row with more edges is cut into pieces of so many edges. Threads then share the edges of one node, and the order
/// of each sum does not depend on the number of threads.
inline constexpr EdgeIndex kMaxPieceEdges = 4096;

/// Non-owning pointers into EdgeOrders, for kernels. Each entry is an edge.
struct EdgeRows {
  std::int64_t num_rows = 0;
  const EdgeIndex* row_begin = nullptr;   // [num_rows + 1], each row's first entry
  const Interval* intervals = nullptr;    // [num_rows], the nodes at the other ends of each row, or null
  const NodeIndex* nodes = nullptr;       // [E], the node at the other end of each entry, or null with intervals
  const EdgeIndex* edges = nullptr;       // [E], the edge of each entry, or null: the entry's number
  std::span<const RowPiece> pieces = {};  // the pieces of the long rows
  std::span<const LongRow> long_rows = {};

  EdgeIndex num_entries() const { return num_rows == 0 ? 0 : row_begin[num_rows]; }

  /// Returns the node at the other end of an entry of `row`.
  std::int64_t node(std::int64_t row, EdgeIndex entry) const {
    return intervals != nullptr ? intervals[row].begin + (entry - row_begin[row]) : nodes[entry];
  }
  std::int64_t edge(EdgeIndex entry) const { return edges != nullptr ? edges[entry] : entry; }

  std::int64_t num_partials() const { return std::ssize(pieces); }

  // The pieces of long rows and the other rows are numbered for parallel loops.

  std::int64_t num_pieces() const { return std::ssize(pieces) + num_rows; }

  /// Calls fn(piece) for the pieces [begin, end).
  template <class Fn>
  void for_pieces(std::int64_t begin, std::int64_t end, Fn fn) const {
    for (std::int64_t i = begin; i < end; ++i) {
      if (i < std::ssize(pieces)) {
        fn(pieces[static_cast<std::size_t>(i)]);
        continue;
      }
      const std::int64_t row = i - std::ssize(pieces);
      if (row_begin[row + 1] - row_begin[row] <= kMaxPieceEdges) fn({row, row_begin[row], row_begin[row + 1], -1});
    }
  }

  /// Returns about the cost of the pieces before piece i: 1 for each edge and 1 for each row.
  std::int64_t cost_before(std::int64_t i) const {
    const std::int64_t row = i - std::ssize(pieces);
    return row <= 0 ? i * kMaxPieceEdges : std::ssize(pieces) * kMaxPieceEdges + row_begin[row] + row;
  }
};

/// The edges out of each source, in ascending order. The edges of source s have the indices `[begin[s], begin[s + 1])`.
struct EdgesBySource {
  std::vector<EdgeIndex> begin;        // [S + 1]
  std::vector<EdgeIndex> edge;         // [E]
  std::vector<NodeIndex> destination;  // [E]
};

/// Takes O(sources + edges) time and memory.
EdgesBySource group_by_source(const RelationView& relation);

/// The edges of a relation, whose memory must outlive this object, by destination and by source.
class EdgeOrders {
 public:
  /// Takes O(rows) time.
  explicit EdgeOrders(const RelationView& relation);

  const RelationView& relation() const { return relation_; }

  /// Returns the number of edges of the longest row of a destination.
  EdgeIndex longest_row() const { return longest_row_; }

  /// The rows are the destinations, and the order of the entries is that of the relation's edges.
  EdgeRows by_destination() const;

  /// The rows are the sources; the entries of a row ascend by edge. The first call takes O(sources + edges) time and
  /// memory: 12 bytes for each edge. Thread-safe.
  EdgeRows by_source() const;

 private:
  struct Pieces {
    std::vector<RowPiece> pieces;
    std::vector<LongRow> long_rows;
  };
  static Pieces cut_rows(std::int64_t num_rows, const EdgeIndex* row_begin);

  RelationView relation_;
  EdgeIndex longest_row_ = 0;
  Pieces destination_pieces_;
  mutable std::once_flag by_source_once_;
  mutable EdgesBySource by_source_;
  mutable Pieces source_pieces_;
};

}  // namespace edgewise::kernels
