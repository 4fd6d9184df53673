// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/score/distance_range.h"

#include <algorithm>

namespace edgewise::kernels {

DistanceRange::DistanceRange(const RelationView& relation) {
  for (std::int64_t row = 0; row < relation.num_destinations; ++row) {
    const EdgeIndex begin = relation.row_begin[row];
    const EdgeIndex end = relation.row_begin[row + 1];
    if (begin == end) continue;
    DistanceRange range;
    if (relation.intervals != nullptr) {
      range.first = relation.intervals[row].begin - row;
      range.last = relation.intervals[row].end - 1 - row;
    } else {
      const auto [smallest, largest] = std::minmax_element(relation.sources + begin, relation.sources + end);
      range.first = *smallest - row;
      range.last = *largest - row;
    }
    include(range);
  }
}

void DistanceRange::include(const DistanceRange& other) {
  if (other.size() == 0) return;
  const bool is_first = size() == 0;
  first = is_first ? other.first : std::min(first, other.first);
  last = is_first ? other.last : std::max(last, other.last);
}

}  // namespace edgewise::kernels
