// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "edgewise/base/random.h"

namespace edgewise {

/// Draws `count` different numbers below `bound`, ascending; each set is equally likely (Bentley and Floyd 1987, "A
/// sample of brilliance"). `count` must be in [0, bound].
std::vector<std::int64_t> draw_distinct(RandomStream random, std::int64_t count, std::int64_t bound);

}  // namespace edgewise
