// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/graph/relation_view.h"

namespace edgewise {

/// Sorts edge numbers. Throws Error, which begins with `function`, for duplicates and numbers outside [0, num_edges).
inline std::vector<EdgeIndex> sort_edges(std::span<const EdgeIndex> edges, EdgeIndex num_edges,
                                         std::string_view function) {
  for (std::size_t i = 0; i < edges.size(); ++i) {
    check(edges[i] >= 0 && edges[i] < num_edges, "{}: edges[{}] is {}, needs a number in [0, {})", function, i,
          edges[i], num_edges);
  }
  std::vector<EdgeIndex> sorted(edges.begin(), edges.end());
  if (!std::ranges::is_sorted(sorted)) std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end()) fail("{}: edges has number {} twice, needs each number at most once", function, *twice);
  return sorted;
}

}  // namespace edgewise
