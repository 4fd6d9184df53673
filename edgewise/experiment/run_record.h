// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/nn/step_count.h"

namespace edgewise {

/// How many nodes thought how many steps, in a validation of a Universal Transformer.
struct ValidationSteps {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  StepHistogram encoder;
  StepHistogram decoder;
};

/// What a run directory tells of a run, over or not.
struct RunRecord {
  using Points = std::vector<std::pair<double, double>>;  // (step, value)

  std::string name;                                           // the path as it was given
  std::vector<std::pair<std::string, std::string>> settings;  // ("train.steps", "2000")
  std::map<std::string, Points, std::less<>> curves;          // by the metrics' names: "valid_bleu"
  std::vector<ValidationSteps> thinking;                      // none of another model
  std::int64_t steps = 0;

  /// Empty where it was not measured.
  const Points& curve(std::string_view metric) const;
  std::optional<std::pair<double, double>> highest(std::string_view metric) const;
  std::optional<std::pair<double, double>> lowest(std::string_view metric) const;

  /// Of all processes that trained it, without what was lost and done again.
  double seconds() const;
  std::optional<double> tokens_per_second() const;  // the median
};

/// Reads RUN/metrics.jsonl and the config beside the run's model. Errors begin with `caller`.
RunRecord read_run(const std::filesystem::path& run, std::string_view caller);

}  // namespace edgewise
