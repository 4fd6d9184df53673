// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/parallel_rows.h"

#include <limits>

namespace edgewise::kernels {
namespace {

/// Returns the smallest interval that holds the sources of a row. For a row without edges, begin is the largest index
/// and end is 0, so that the interval changes no minimum and no maximum.
Interval source_span(const RelationView& relation, std::int64_t row) {
  constexpr Interval kEmpty = {std::numeric_limits<NodeIndex>::max(), 0};
  const EdgeIndex begin = relation.row_begin[row];
  const EdgeIndex end = relation.row_begin[row + 1];
  if (begin == end) return kEmpty;
  if (relation.intervals != nullptr) return relation.intervals[row];
  const auto [smallest, largest] = std::minmax_element(relation.sources + begin, relation.sources + end);
  return {*smallest, *largest + 1};
}

}  // namespace

std::vector<std::int64_t> find_independent_runs(const RelationView& relation) {
  const std::int64_t num_rows = relation.num_destinations;
  std::vector<NodeIndex> first_source_from(num_rows + 1, std::numeric_limits<NodeIndex>::max());
  for (std::int64_t row = num_rows - 1; row >= 0; --row) {
    first_source_from[row] = std::min(first_source_from[row + 1], source_span(relation, row).begin);
  }

  std::vector<std::int64_t> runs = {0};
  NodeIndex sources_end = 0;
  for (std::int64_t row = 0; row < num_rows; ++row) {
    if (row > runs.back() && sources_end <= first_source_from[row]) runs.push_back(row);
    sources_end = std::max(sources_end, source_span(relation, row).end);
  }
  if (num_rows > 0) runs.push_back(num_rows);
  return runs;
}

}  // namespace edgewise::kernels
