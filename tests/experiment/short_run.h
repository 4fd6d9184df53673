// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "tests/experiment/option_table.h"

namespace edgewise {

/// The results of a run, without times.
struct ShortRunResult {
  std::string error;                          // of the config, or of the training
  bool is_refused = false;                    // whether the error is one of the config
  std::map<std::string, std::string> values;  // losses, batches, metrics, files, weights, translations, by name

  bool operator==(const ShortRunResult&) const = default;
};

/// Trains short runs in a folder of its own, which it removes, and keeps their results.
class ShortRuns {
 public:
  /// Writes the texts and the vocabulary that option_rows() names.
  ShortRuns();
  ShortRuns(const ShortRuns&) = delete;
  ShortRuns& operator=(const ShortRuns&) = delete;
  ~ShortRuns();

  const ShortRunResult& operator()(const Settings& settings);

 private:
  ShortRunResult run(const Settings& settings) const;

  std::filesystem::path folder_;
  std::map<Settings, ShortRunResult> results_;
};

}  // namespace edgewise
