// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "edgewise/base/error.h"
#include "edgewise/graph/relation_view.h"

namespace edgewise {

inline constexpr std::int64_t kMaxNodes = std::numeric_limits<NodeIndex>::max();

/// Throws Error unless so many nodes can be counted. Edges then need no check of their own: as many as two relations
/// of kMaxNodes rows with kMaxNodes sources each have fit in an EdgeIndex.
inline void check_node_count(std::int64_t count, std::string_view what) {
  check(count >= 0 && count <= kMaxNodes, "{} is {}, needs a number from 0 to {}", what, count, kMaxNodes);
}

}  // namespace edgewise
