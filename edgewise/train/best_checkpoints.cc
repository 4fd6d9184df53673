// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/best_checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <system_error>

#include "edgewise/base/config/config.h"
#include "edgewise/base/files/directory.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/manifest.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStepPrefix = "step-";

std::vector<fs::path> list_checkpoints(const fs::path& run) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(run, error), end; !error && entry != end; entry.increment(error)) {
    if (is_checkpoint_name(entry->path().filename().string())) found.push_back(entry->path());
  }
  return found;
}

/// Reads the scores of a model; returns nothing for a directory without a manifest or scores.
std::optional<CheckpointScore> read_score(const fs::path& directory) {
  if (!has_entry(directory / kManifestName, "train")) return std::nullopt;
  const ListedDirectory files(directory, "train");
  if (!files.has(kScoreFile)) return std::nullopt;
  return parse_config<CheckpointScore>(files.read(kScoreFile, kMaxConfigBytes), files.path(kScoreFile));
}

}  // namespace

void BestCheckpoints::read(const fs::path& run, std::int64_t validated_step) {
  std::vector<CheckpointScore> found;
  for (const fs::path& directory : list_checkpoints(run)) {
    if (const std::optional<CheckpointScore> score = read_score(directory)) found.push_back(*score);
  }
  std::ranges::sort(found, {}, &CheckpointScore::step);
  scores_.clear();
  for (const CheckpointScore& model : found) {
    if (model.step <= validated_step) add(model.step, model.validation);
  }
}

bool BestCheckpoints::add(std::int64_t step, const Validation& validation) {
  const auto position = std::ranges::find_if(
      scores_, [&](const CheckpointScore& other) { return is_better(validation, other.validation, by_); });
  if (position - scores_.begin() >= capacity_) return false;
  scores_.insert(position, {step, validation});
  if (static_cast<std::int64_t>(scores_.size()) > capacity_) scores_.pop_back();
  return true;
}

std::set<std::string> BestCheckpoints::names() const {
  std::set<std::string> names;
  for (const CheckpointScore& score : scores_) names.insert(checkpoint_name(score.step));
  return names;
}

bool is_checkpoint_name(std::string_view name) {
  return name.starts_with(kStepPrefix) && name.size() >= kStepPrefix.size() + 8 &&
         name.find_first_not_of("0123456789", kStepPrefix.size()) == std::string_view::npos;
}

std::string checkpoint_name(std::int64_t step) { return fmt::format("{}{:08}", kStepPrefix, step); }

void remove_checkpoints_except(const fs::path& run, const std::set<std::string>& names) {
  for (const fs::path& directory : list_checkpoints(run)) {
    if (!names.contains(directory.filename().string())) remove_listed_directory(directory, "train");
  }
}

}  // namespace edgewise
