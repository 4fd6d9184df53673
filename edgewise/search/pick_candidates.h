// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/search/scorer.h"

namespace edgewise {

/// For a scorer that has all log-probabilities, [rows, vocabulary]: writes candidates and wanted ones to the result.
/// `request.all` is the scorer's own to answer.
void pick_candidates(std::span<const float> log_probabilities, const StepRequest& request, StepResult& result);

}  // namespace edgewise
