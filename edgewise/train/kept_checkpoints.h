// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "edgewise/train/task.h"

namespace edgewise {

/// What a model directory of a validated model says of its worth, beside the model: validation.toml.
struct ModelWorth {
  std::int64_t step = 0;
  Validation validation;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field("step", self.step, "of training", at_least(0));
    field("validation", self.validation, "what it is worth");
  }
};

inline constexpr const char* kWorthFile = "validation.toml";

/// The best validations of a run, whose models are RUN/step-00001200 and so on. Which they are is told by these
/// directories themselves: nothing else need be saved.
class KeptCheckpoints {
 public:
  /// At most `most`; 0 keeps none.
  KeptCheckpoints(std::int64_t most, BestBy by) : most_(most), by_(by) {}

  /// Those that a run had after a step. Throws Error for one whose validation.toml cannot be read.
  void read(const std::filesystem::path& run, std::int64_t last_step);

  /// Takes in a validation if it is among the best; then the worst may have to go. Of equal ones the first is better.
  bool add(std::int64_t step, const Validation& validation);

  bool is_keeping() const { return most_ > 0; }

  /// The directories' names.
  std::set<std::string> names() const;

 private:
  std::int64_t most_;
  BestBy by_;
  std::vector<ModelWorth> kept_;  // best first
};

/// RUN/step-00001200 for 1200.
std::string name_of_step(std::int64_t step);

/// Removes the kept checkpoints of a run but for those of these names.
void remove_other_checkpoints(const std::filesystem::path& run, const std::set<std::string>& names);

}  // namespace edgewise
