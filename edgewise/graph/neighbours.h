// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "edgewise/graph/relation.h"

namespace edgewise {

inline constexpr NodeIndex kNoNode = -1;  // stands for a neighbour that does not exist

/// The window of a convolution over the sources of a row: the numbers of sources before and after the centre.
struct NeighbourWindow {
  std::int64_t before = 0;
  std::int64_t after = 0;

  /// `width` counts the centre.
  static constexpr NeighbourWindow centred(std::int64_t width) { return {(width - 1) / 2, width / 2}; }
  static constexpr NeighbourWindow causal(std::int64_t width) { return {width - 1, 0}; }

  std::int64_t width() const { return before + 1 + after; }
};

/// Returns [rows, width]: for each row `rows[i]` of a relation the sources around its source `centres[i]`, in the row's
/// order, and kNoNode beyond the row's ends. The sources of each row must ascend. O(rows · (width + log(row size))).
/// Throws Error if a centre is not a source of its row.
std::vector<NodeIndex> find_neighbours(const Relation& relation, std::span<const NodeIndex> rows,
                                       std::span<const NodeIndex> centres, NeighbourWindow window);

}  // namespace edgewise
