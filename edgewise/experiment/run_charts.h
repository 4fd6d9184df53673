// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "edgewise/experiment/run_record.h"
#include "edgewise/viz/svg.h"

namespace edgewise {

/// Loss, BLEU, sequences that are right, learning rate and speed of several runs, each chart with all of them over the
/// same steps; what none of them measured is left out. Run i has colour i of the palette.
std::vector<SvgPicture> charts_of(const std::vector<RunRecord>& runs);

/// A drawing's legend: which colour is which run.
SvgPicture legend_of(const std::vector<RunRecord>& runs);

/// All curves, a run each: {"name": …, "curves": {"valid_bleu": [[step, value], …]}}.
std::string json_of(const std::vector<RunRecord>& runs);

}  // namespace edgewise
