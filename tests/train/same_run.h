// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "edgewise/base/files/files.h"

namespace edgewise {

/// Reads the lines of metrics without times and speeds, and without the metrics that only several processes have.
inline std::string read_metrics(const std::filesystem::path& run) {
  return std::regex_replace(read_file(run / "metrics.jsonl"),
                            std::regex(", \"(tokens_per_second|seconds|imbalance|exchange_share)\": [0-9.e-]+"), "");
}

/// Returns the names in a folder, sorted.
inline std::set<std::string> names_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

/// Reads a file of a checkpoint. Leaves out where the run was to end, which differs if one of two runs was trained in
/// parts, and the size of the metrics, which contain times.
inline std::string read_checkpoint_file(const std::filesystem::path& file) {
  const std::string bytes = read_file(file);
  if (file.extension() != ".toml") return bytes;
  return std::regex_replace(bytes, std::regex("\n(steps|epochs|patience|metrics_size) = [0-9]+"), "");
}

/// Returns the first difference between the bits of two runs, in weights, moments, the state of training, metrics and
/// the saved models; "" if they are equal. RUN/previous may differ, because its content depends on the times of the
/// saves.
inline std::string find_difference(const std::filesystem::path& left, const std::filesystem::path& right) {
  if (read_metrics(left) != read_metrics(right)) {
    return "metrics.jsonl:\n" + read_metrics(left) + "\ninstead of\n" + read_metrics(right);
  }
  constexpr const char* kAttention = "attention.jsonl";
  if (exists(left / kAttention) != exists(right / kAttention)) return kAttention;
  if (exists(left / kAttention) && read_file(left / kAttention) != read_file(right / kAttention)) return kAttention;
  const auto is_model = [](const std::string& name) {
    const bool is_other = name.find('.') != std::string::npos;  // a leftover
    return !is_other && (name == "last" || name.starts_with("best") || name.starts_with("step-"));
  };
  for (const std::string& name : names_in(left)) {
    if (is_model(name) && !exists(right / name)) return name + " is superfluous";
  }
  for (const std::string& directory : names_in(right)) {
    if (!is_model(directory)) continue;
    if (!exists(left / directory)) return directory + " is absent";
    for (const std::string& file : names_in(right / directory)) {
      if (file == "manifest.json") continue;
      if (!exists(left / directory / file)) return directory + "/" + file + " is absent";
      const std::string bytes = read_checkpoint_file(left / directory / file);
      const std::string needed = read_checkpoint_file(right / directory / file);
      if (bytes == needed) continue;
      const bool is_text = file.ends_with(".toml");
      return directory + "/" + file + (is_text ? ":\n" + bytes + "\ninstead of\n" + needed : " differs");
    }
  }
  return {};
}

/// Expects that find_difference() finds none.
inline void expect_same_run(const std::filesystem::path& left, const std::filesystem::path& right) {
  EXPECT_EQ(find_difference(left, right), "");
}

}  // namespace edgewise
