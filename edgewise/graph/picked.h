// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "edgewise/graph/relation_view.h"

namespace edgewise {

/// The items at some indices, in their order: of nodes gathered into fewer rows, what belongs to each.
template <typename Item>
std::vector<Item> picked(std::span<const Item> items, std::span<const NodeIndex> indices) {
  std::vector<Item> found;
  found.reserve(indices.size());
  for (const NodeIndex index : indices) found.push_back(items[static_cast<std::size_t>(index)]);
  return found;
}

}  // namespace edgewise
