// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

namespace edgewise {

/// Sorts elements in ascending order and keeps one of equal ones.
template <typename T>
void sort_unique(std::vector<T>& elements) {
  std::ranges::sort(elements);
  elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
}

}  // namespace edgewise
