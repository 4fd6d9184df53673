// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/graph/relation_view.h"

namespace edgewise::kernels {

/// The range of source - destination over the edges of a relation.
struct DistanceRange {
  DistanceRange() = default;

  /// Takes O(rows) time for intervals, and O(edges) for CSR.
  explicit DistanceRange(const RelationView& relation);

  std::int64_t first = 0;
  std::int64_t last = -1;  // below `first` without edges

  std::int64_t size() const { return last - first + 1; }

  /// Extends the range to that of other edges, too.
  void include(const DistanceRange& other);
};

}  // namespace edgewise::kernels
