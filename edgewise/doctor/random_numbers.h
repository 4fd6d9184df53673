// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "edgewise/base/random.h"

namespace edgewise {

/// Draws numbers from [-1, 1) without functions of the mathematical library, whose last bits differ between machines.
inline std::vector<float> draw_numbers(std::int64_t count, RandomStream& random) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& number : numbers) number = static_cast<float>(static_cast<std::int32_t>(random.next_u32())) * 0x1p-31f;
  return numbers;
}

}  // namespace edgewise
