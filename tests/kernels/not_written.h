// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace edgewise::kernels {

/// Returns `count` NaNs, as the memory of an output or a workspace: a comparison finds numbers that a kernel does not
/// write, and numbers that it reads before it writes them.
template <typename T = float, typename Count>
std::vector<T> not_written(Count count) {
  return std::vector<T>(static_cast<std::size_t>(count), T(std::nanf("")));
}

}  // namespace edgewise::kernels
