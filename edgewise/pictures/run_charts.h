// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "edgewise/experiment/run_record.h"
#include "edgewise/viz/svg.h"

namespace edgewise {

/// Draws charts of loss, BLEU, sequence accuracy, learning rate and speed over the steps of all runs. A chart that no
/// run has values for is left out. Run i has colour i of the palette.
std::vector<SvgPicture> charts_of(const std::vector<RunRecord>& runs);

/// Returns charts_of(runs) as HTML.
std::string charts_html(const std::vector<RunRecord>& runs);

/// Draws the legend of the charts: the name and colour of each run.
SvgPicture legend_of(const std::vector<RunRecord>& runs);

/// Returns a JSON array with one object per run: {"name": …, "curves": {"valid_bleu": [[step, value], …]}}.
std::string json_of(const std::vector<RunRecord>& runs);

}  // namespace edgewise
