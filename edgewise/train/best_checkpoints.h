// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/train/task.h"

namespace edgewise {

/// The validation scores of a model, which are saved as validation.toml in its directory.
struct CheckpointScore {
  std::int64_t step = 0;
  Validation validation;

  static void list_fields(auto& self, auto&& field) {
    field("step", self.step, "training step of the model", at_least(0).at_most(1e18));
    field("validation", self.validation, "scores of this model");
  }
};

inline constexpr const char* kScoreFile = "validation.toml";

/// Lists the best validations of a run, whose models are saved as RUN/step-00001200 and so on. The list itself is saved
/// only by the validation.toml files of these directories.
class BestCheckpoints {
 public:
  /// Keeps at most `capacity` validations.
  BestCheckpoints(std::int64_t capacity, BestMetric by) : capacity_(capacity), by_(by) {}

  /// Restores the list of a run whose last validation was after step `validated_step`. Reads the files that manifests
  /// list. Throws Error for a validation.toml that cannot be read or was altered.
  void read(const std::filesystem::path& run, std::int64_t validated_step);

  /// Adds a validation if it is among the best, and removes the worst above the capacity; returns whether the
  /// validation was added. Of equal validations, the earlier is better.
  bool add(std::int64_t step, const Validation& validation);

  bool is_enabled() const { return capacity_ > 0; }

  /// Returns the names of the models' directories.
  std::set<std::string> names() const;

 private:
  std::int64_t capacity_;
  BestMetric by_;
  std::vector<CheckpointScore> scores_;  // best first
};

/// Whether a name is one that checkpoint_name returns.
bool is_checkpoint_name(std::string_view name);

/// Returns "step-00001200" for 1200.
std::string checkpoint_name(std::int64_t step);

/// Removes the step-* checkpoints of a run except for `names`. Throws Error when one cannot be removed.
void remove_checkpoints_except(const std::filesystem::path& run, const std::set<std::string>& names);

}  // namespace edgewise
