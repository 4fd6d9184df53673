// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "edgewise/base/files.h"

namespace edgewise {

/// Reads the lines of metrics without times and speeds.
inline std::string read_metrics(const std::filesystem::path& run) {
  return std::regex_replace(read_file(run / "metrics.jsonl"), std::regex("\"(tokens_per_second|seconds)\": [0-9.e-]+"),
                            "");
}

/// Returns the names in a folder, sorted.
inline std::set<std::string> names_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

/// Expects two runs to be equal bit for bit: weights, moments, the state of training, metrics and the saved models.
/// RUN/previous may differ, because its content depends on the times of the saves.
inline void expect_same_run(const std::filesystem::path& left, const std::filesystem::path& right) {
  EXPECT_EQ(read_metrics(left), read_metrics(right));
  std::set<std::string> directories;
  for (const std::string& name : names_in(right)) {
    if (name == "last" || name == "best" || name.starts_with("step-")) directories.insert(name);
  }
  for (const std::string& directory : directories) {
    ASSERT_TRUE(std::filesystem::exists(left / directory)) << directory;
    for (const std::string& file : names_in(right / directory)) {
      if (file == "manifest.json" || file == "training.toml") continue;
      EXPECT_TRUE(read_file(left / directory / file) == read_file(right / directory / file))
          << directory << "/" << file;
    }
  }
  const auto without_size = [](const std::filesystem::path& run) {
    return std::regex_replace(read_file(run / "last/training.toml"), std::regex("metrics_size = [0-9]+"), "");
  };
  EXPECT_EQ(without_size(left), without_size(right));
  for (const std::string& name : names_in(left)) {
    EXPECT_TRUE(!name.starts_with("step-") || directories.contains(name)) << name;
  }
}

}  // namespace edgewise
