// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "edgewise/graph/relation.h"

namespace edgewise {

inline constexpr NodeIndex kNoNode = -1;

/// How many neighbours a node has on each side, in the order of those it sees.
struct Reach {
  std::int64_t before = 0;
  std::int64_t after = 0;

  /// `width` nodes, itself among them: around it, or up to it.
  static constexpr Reach around(std::int64_t width) { return {(width - 1) / 2, width / 2}; }
  static constexpr Reach up_to(std::int64_t width) { return {width - 1, 0}; }

  std::int64_t width() const { return before + 1 + after; }
};

/// For each row `rows[i]` of a relation the sources around `centres[i]`, which is one of them, in the row's order;
/// kNoNode where there are none so far: [rows, width]. Sources ascend in rows. O(rows · (width + log(row size))).
/// Throws Error for a centre that its row does not have.
std::vector<NodeIndex> neighbours(const Relation& relation, std::span<const NodeIndex> rows,
                                  std::span<const NodeIndex> centres, Reach reach);

}  // namespace edgewise
