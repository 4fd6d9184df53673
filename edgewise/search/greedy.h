// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "edgewise/search/rules.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// The most likely next token, always; the lower one among equals. No input may be empty.
std::vector<Hypothesis> search_greedily(Scorer& scorer, std::span<const Tokens> inputs, const Rules& rules);

}  // namespace edgewise
