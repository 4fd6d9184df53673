// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace edgewise {

/// Returns the number that an environment variable has, or `otherwise` if the variable is not set.
inline std::uint64_t environment_number(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoull(text);
}

/// Returns the seed of a test's random cases: the same one in each run, unless EDGEWISE_SEED has another one.
inline std::uint64_t test_seed() { return environment_number("EDGEWISE_SEED", 1); }

}  // namespace edgewise
