// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/data/batches.h"
#include "edgewise/train/learning_rate_schedule.h"
#include "edgewise/train/task.h"

namespace edgewise {

/// Mean and variance of the loss over about the last 100 steps, to detect a spike. The first 100 steps have equal
/// weights; after them, each step has 1 % less weight than the next step.
struct LossStatistics {
  std::int64_t steps = 0;
  double mean = 0.0;
  double variance = 0.0;

  void add(double loss);
  double deviation() const;

  /// Returns whether a loss, not yet added, is above mean + deviations · standard deviation; false before 100 steps.
  bool is_spike(double loss, double deviations) const;

  bool operator==(const LossStatistics&) const = default;
};

/// The state of training without parameters, moments and averages. With these, a resumed run gives the same bits.
struct TrainingState {
  std::int64_t step = 0;
  std::int64_t updates = 0;                                  // steps whose loss and gradients were finite
  std::int64_t skips_in_a_row = 0;                           // latest steps in a row that were skipped
  std::optional<std::int64_t> averaged;                      // updates in the averages; unset: no averaging
  std::vector<BatchPosition> positions = {BatchPosition()};  // one for each virtual rank
  std::int64_t epoch_step = 0;                               // the step after which the present epoch began
  double gradient_norm = 0.0;                                // norm at the latest step, for the next line of metrics
  LossSums log;                                              // sums since the last line of metrics
  LossStatistics losses;
  std::int64_t metrics_size = 0;  // bytes of metrics.jsonl
  std::optional<Validation> best;
  std::int64_t best_step = 0;
  std::int64_t validated_step = 0;
  std::int64_t validations_since_best = 0;
  PlateauState plateau;
  std::uint64_t seed = 0;
  std::uint64_t data_fingerprint = 0;  // BatchShares::fingerprint()

  /// Returns the number of epochs that all virtual ranks have finished.
  std::int64_t finished_epochs() const;
};

/// Returns the text of training.toml; `kind` is the kind of the task, and `files` are the names of the checkpoint's
/// other files.
std::string training_state_text(const TrainingState& state, const std::string& kind,
                                std::vector<std::string> files = {});

/// Parses the text of training.toml; `path` is its path for messages. Throws Error for a run of another kind.
TrainingState parse_training_state(std::string_view text, const std::filesystem::path& path, const std::string& kind);

/// Returns the file names that the text of training.toml has; none for a text that parse_training_state refuses.
std::vector<std::string> files_of_training_state(std::string_view text);

}  // namespace edgewise
