// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/graph/relation_view.h"

namespace edgewise {

inline constexpr std::int64_t kMaxNodes = std::numeric_limits<NodeIndex>::max();

/// Throws Error unless `count` is in [0, kMaxNodes]. Formats `what`, which names the count, only in that case. Edge
/// counts need no check: kMaxNodes² fits an EdgeIndex.
template <typename... Args>
void check_node_count(std::int64_t count, fmt::format_string<Args...> what, Args&&... args) {
  if (count < 0 || count > kMaxNodes) [[unlikely]] {
    fail("{} is {}, needs a number from 0 to {}", fmt::format(what, std::forward<Args>(args)...), count, kMaxNodes);
  }
}

}  // namespace edgewise
