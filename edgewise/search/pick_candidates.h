// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "edgewise/search/scorer.h"

namespace edgewise {

/// Writes `candidates` and `wanted` of a result, for scorers that have all log-probabilities [rows, vocabulary].
/// Ignores `request.all`.
void pick_candidates(std::span<const float> log_probabilities, const StepRequest& request, StepResult& result);

}  // namespace edgewise
