// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "edgewise/base/error.h"
#include "edgewise/graph/relation_view.h"

namespace edgewise {

inline constexpr std::int64_t kMaxNodes = std::numeric_limits<NodeIndex>::max();

/// Throws Error unless `count` is in [0, kMaxNodes]. Edge counts need no check: kMaxNodes² fits an EdgeIndex.
inline void check_node_count(std::int64_t count, std::string_view what) {
  check(count >= 0 && count <= kMaxNodes, "{} is {}, needs a number from 0 to {}", what, count, kMaxNodes);
}

}  // namespace edgewise
