// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "edgewise/kernels/attention/row_attention.h"

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

RowPlan::RowPlan(const RelationView& relation) : relation_(relation) {
  for (std::int64_t row = 0; row < relation.num_destinations; ++row) {
    longest_row_ = std::max(longest_row_, relation.row_begin[row + 1] - relation.row_begin[row]);
  }
}

const EdgesBySource& RowPlan::by_source() const {
  std::call_once(by_source_once_, [this] { by_source_ = group_by_source(relation_); });
  return by_source_;
}

}  // namespace edgewise::kernels
