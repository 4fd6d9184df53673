// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/experiment/run_record.h"
#include "edgewise/viz/svg.h"

namespace edgewise {

/// A column of the comparison table: a name, and one text per run.
struct ComparisonColumn {
  std::string name;
  std::vector<std::string> cells;
};

/// Compares at least one run: steps, best scores, speed, time, and the options that differ between the runs. A column
/// that is empty for every run is left out.
std::vector<ComparisonColumn> compare_runs(const std::vector<RunRecord>& runs);

/// Returns an HTML page with the comparison table and the charts of all runs.
std::string comparison_page(const std::vector<RunRecord>& runs);

/// Formats a duration: "12 s", "4 min 05 s", "3 h 20 min".
std::string format_duration(double seconds);

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
