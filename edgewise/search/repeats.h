// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/search/scorer.h"

namespace edgewise {

/// The tokens that would end a sequence of `size` tokens that is in `produced` already; ascending, each once.
/// O(length · size).
Tokens ends_of_repeats(std::span<const std::int64_t> produced, std::int64_t size);

/// Ascending, each once.
Tokens different_tokens(std::span<const std::int64_t> tokens);

}  // namespace edgewise
