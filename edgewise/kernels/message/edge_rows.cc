// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/message/edge_rows.h"

#include <algorithm>
#include <numeric>

namespace edgewise::kernels {

EdgesBySource group_by_source(const RelationView& relation) {
  EdgesBySource result;
  result.begin.assign(relation.num_sources + 1, 0);
  result.edge.resize(relation.num_edges());
  result.destination.resize(relation.num_edges());

  for_each_edge(relation, [&](NodeIndex source, NodeIndex /*row*/, EdgeIndex /*edge*/) { ++result.begin[source + 1]; });
  std::partial_sum(result.begin.begin(), result.begin.end(), result.begin.begin());

  std::vector<EdgeIndex> next(result.begin.begin(), result.begin.end() - 1);
  for_each_edge(relation, [&](NodeIndex source, NodeIndex row, EdgeIndex edge) {
    const EdgeIndex index = next[source]++;
    result.edge[index] = edge;
    result.destination[index] = row;
  });
  return result;
}

EdgeOrders::EdgeOrders(const RelationView& relation)
    : relation_(relation), destination_pieces_(cut_rows(relation.num_destinations, relation.row_begin)) {
  for (std::int64_t row = 0; row < relation.num_destinations; ++row) {
    longest_row_ = std::max(longest_row_, relation.row_begin[row + 1] - relation.row_begin[row]);
  }
}

EdgeRows EdgeOrders::by_destination() const {
  return {.num_rows = relation_.num_destinations,
          .row_begin = relation_.row_begin,
          .intervals = relation_.intervals,
          .nodes = relation_.sources,
          .pieces = destination_pieces_.pieces,
          .long_rows = destination_pieces_.long_rows};
}

EdgeRows EdgeOrders::by_source() const {
  std::call_once(by_source_once_, [this] {
    by_source_ = group_by_source(relation_);
    source_pieces_ = cut_rows(relation_.num_sources, by_source_.begin.data());
  });
  return {.num_rows = relation_.num_sources,
          .row_begin = by_source_.begin.data(),
          .nodes = by_source_.destination.data(),
          .edges = by_source_.edge.data(),
          .pieces = source_pieces_.pieces,
          .long_rows = source_pieces_.long_rows};
}

EdgeOrders::Pieces EdgeOrders::cut_rows(std::int64_t num_rows, const EdgeIndex* row_begin) {
  Pieces result;
  for (std::int64_t row = 0; row < num_rows; ++row) {
    const EdgeIndex end = row_begin[row + 1];
    if (end - row_begin[row] <= kMaxPieceEdges) continue;
    const std::int64_t first_partial = std::ssize(result.pieces);
    for (EdgeIndex begin = row_begin[row]; begin < end; begin += kMaxPieceEdges) {
      result.pieces.push_back({row, begin, std::min(begin + kMaxPieceEdges, end), std::ssize(result.pieces)});
    }
    result.long_rows.push_back({row, first_partial, std::ssize(result.pieces)});
  }
  return result;
}

}  // namespace edgewise::kernels
