// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <vector>

#include "edgewise/graph/relation_view.h"

namespace edgewise::kernels {

/// The edges out of each source, in ascending order: those of source s are at begin[s] to begin[s + 1].
struct EdgesBySource {
  std::vector<EdgeIndex> begin;
  std::vector<EdgeIndex> edge;
  std::vector<NodeIndex> destination;
};

/// O(sources + edges).
EdgesBySource edges_by_source(const RelationView& relation);

/// What the row kernels know about a relation, whose memory outlives the plan.
class RowPlan {
 public:
  explicit RowPlan(const RelationView& relation);

  EdgeIndex longest_row() const { return longest_row_; }

  /// Made when first asked for: only backward needs it. Any thread may ask.
  const EdgesBySource& by_source() const;

 private:
  RelationView relation_;
  EdgeIndex longest_row_ = 0;
  mutable std::once_flag is_reversed_;
  mutable EdgesBySource by_source_;
};

}  // namespace edgewise::kernels
