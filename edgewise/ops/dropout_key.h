// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace edgewise {

/// Selects the random numbers of a dropout operation. Seed and stream alone determine them, so that backward draws the
/// same random numbers again instead of storing them.
struct DropoutKey {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
};

}  // namespace edgewise
