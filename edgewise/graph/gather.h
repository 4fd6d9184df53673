// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "edgewise/graph/relation_view.h"

namespace edgewise {

/// Returns `items[i]` for each index i.
template <typename Item>
std::vector<Item> gather(std::span<const Item> items, std::span<const NodeIndex> indices) {
  std::vector<Item> gathered;
  gathered.reserve(indices.size());
  for (const NodeIndex index : indices) gathered.push_back(items[static_cast<std::size_t>(index)]);
  return gathered;
}

}  // namespace edgewise
