// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/message/edge_rows.h"

#include <algorithm>
#include <numeric>

namespace edgewise::kernels {

EdgeOrders::EdgeOrders(const RelationView& relation)
    : relation_(relation), destination_pieces_(cut_rows(relation.num_destinations, relation.row_begin)) {}

EdgeRows EdgeOrders::by_destination() const {
  return {.num_rows = relation_.num_destinations,
          .row_begin = relation_.row_begin,
          .intervals = relation_.intervals,
          .nodes = relation_.sources,
          .pieces = destination_pieces_.pieces,
          .long_rows = destination_pieces_.long_rows};
}

EdgeRows EdgeOrders::by_source() const {
  std::call_once(by_source_once_, [this] { group_by_source(); });
  return {.num_rows = relation_.num_sources,
          .row_begin = source_begin_.data(),
          .nodes = destination_of_entry_.data(),
          .edges = edge_of_entry_.data(),
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

void EdgeOrders::group_by_source() const {
  const RelationView& relation = relation_;
  source_begin_.assign(static_cast<std::size_t>(relation.num_sources) + 1, 0);
  destination_of_entry_.resize(static_cast<std::size_t>(relation.num_edges()));
  edge_of_entry_.resize(static_cast<std::size_t>(relation.num_edges()));

  auto for_edges = [&](auto fn) {
    for (std::int64_t row = 0; row < relation.num_destinations; ++row) {
      for (EdgeIndex edge = relation.row_begin[row]; edge < relation.row_begin[row + 1]; ++edge) {
        fn(static_cast<NodeIndex>(row), edge, relation.source(row, edge));
      }
    }
  };
  for_edges([&](NodeIndex /*row*/, EdgeIndex /*edge*/, NodeIndex source) { ++source_begin_[source + 1]; });
  std::partial_sum(source_begin_.begin(), source_begin_.end(), source_begin_.begin());

  std::vector<EdgeIndex> next(source_begin_.begin(), source_begin_.end() - 1);
  for_edges([&](NodeIndex row, EdgeIndex edge, NodeIndex source) {
    const EdgeIndex entry = next[source]++;
    edge_of_entry_[entry] = edge;
    destination_of_entry_[entry] = row;
  });
  source_pieces_ = cut_rows(relation.num_sources, source_begin_.data());
}

}  // namespace edgewise::kernels
