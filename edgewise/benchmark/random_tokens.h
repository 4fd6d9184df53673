// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "edgewise/base/random.h"

namespace edgewise {

/// Fills `tokens` with random ones that are not special: numbers from 4 to `vocabulary` - 1.
inline void draw_tokens(std::int64_t vocabulary, RandomStream& random, std::span<std::int64_t> tokens) {
  const auto count = static_cast<std::uint64_t>(vocabulary - 4);
  for (std::int64_t& token : tokens) token = 4 + static_cast<std::int64_t>(random.next_below(count));
}

}  // namespace edgewise
