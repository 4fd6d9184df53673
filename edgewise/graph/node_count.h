// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "edgewise/base/error.h"
#include "edgewise/graph/relation_view.h"

namespace edgewise {

inline constexpr std::int64_t kMaxNodes = std::numeric_limits<NodeIndex>::max();

/// Throws Error unless so many nodes can be counted. The edges of one relation then need no check of their own:
/// kMaxNodes rows of kMaxNodes sources are fewer than an EdgeIndex holds.
inline void check_node_count(std::int64_t count, std::string_view what) {
  check(count >= 0 && count <= kMaxNodes, "{} is {}, needs a number from 0 to {}", what, count, kMaxNodes);
}

}  // namespace edgewise
