// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "edgewise/data/batches.h"
#include "edgewise/distributed/process_group.h"
#include "edgewise/ops/loss.h"

namespace edgewise {

/// The results of a virtual rank in a step, and its progress afterwards.
struct VirtualRankReport {
  LossSums sums;
  BatchPosition position;
  std::int64_t batches_per_epoch = 0;
};

/// The report of a process to the others before the last backward pass of a step.
struct ProcessReport {
  bool is_stopped = false;  // a request to stop, so that the step has no effect
  bool is_save_requested = false;
  std::string error;                     // "" if all batches were prepared; otherwise the step has no effect
  std::vector<VirtualRankReport> ranks;  // equally many in all processes
};

/// Returns the reports of all processes, in their order. All processes call this function. Costs one exchange of about
/// 200 bytes for each virtual rank, and a second one if there is an error.
std::vector<ProcessReport> exchange_reports(ProcessGroup& processes, const ProcessReport& report);

/// The progress of all virtual ranks, in their order.
struct BatchProgress {
  std::vector<BatchPosition> positions;
  std::vector<std::int64_t> batches_per_epoch;
};

BatchProgress progress_of(const std::vector<ProcessReport>& reports);

/// Returns the sums over all virtual ranks, in their order.
LossSums sums_of(const std::vector<ProcessReport>& reports);

/// Returns the tokens of the process with most tokens, divided by the mean of all processes; 1 without tokens.
double imbalance_of(const std::vector<ProcessReport>& reports);

}  // namespace edgewise
