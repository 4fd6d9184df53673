// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "edgewise/data/batches.h"
#include "edgewise/train/loss_statistics.h"
#include "edgewise/train/schedule.h"
#include "edgewise/train/task.h"

namespace edgewise {

/// What training needs beside parameters, moments and averages to go on as if it had never stopped.
struct TrainingState {
  std::int64_t step = 0;
  std::int64_t updates = 0;              // steps without those skipped for a loss or gradient that was not finite
  std::int64_t skips_in_a_row = 0;       // the latest steps, if they were skipped
  std::optional<std::int64_t> averaged;  // updates in the averages; unset: no averages are kept
  Position position;
  double gradient_norm = 0.0;  // of the latest step, which the next line of metrics has
  LogSums log;                 // since the last line of metrics
  LossStatistics losses;
  std::int64_t metrics_size = 0;  // bytes of metrics.jsonl
  std::optional<Validation> best;
  std::int64_t best_step = 0;
  std::int64_t validated_step = 0;
  std::int64_t validations_since_best = 0;
  Plateau plateau;
  std::uint64_t seed = 0;
  std::uint64_t data_fingerprint = 0;  // BatchStream's
};

/// The text of training.toml; `kind` is the task's.
std::string training_state_text(const TrainingState& state, const std::string& kind);

/// Throws Error for a run of another kind.
TrainingState read_training_state(const std::filesystem::path& file, const std::string& kind);

}  // namespace edgewise
