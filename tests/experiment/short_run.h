// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>

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

  /// Returns the result of a resumed run: `settings` begin it, `settings` and `others` resume it.
  const ShortRunResult& resume(const Settings& settings, const Settings& others);

 private:
  ShortRunResult run(const Settings& settings, bool is_resumed = false) const;
  const std::filesystem::path& begin(const Settings& settings);

  std::filesystem::path folder_;
  std::map<Settings, ShortRunResult> results_;
  std::map<Settings, std::filesystem::path> begun_;
  std::map<std::pair<Settings, Settings>, ShortRunResult> resumed_;
};

}  // namespace edgewise
