// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/kept_checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "edgewise/base/config.h"
#include "edgewise/base/directory.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStepPrefix = "step-";

bool is_name_of_step(std::string_view name) {
  return name.starts_with(kStepPrefix) && name.size() >= kStepPrefix.size() + 8 &&
         name.find_first_not_of("0123456789", kStepPrefix.size()) == std::string_view::npos;
}

std::vector<fs::path> checkpoints_in(const fs::path& run) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(run, error), end; !error && entry != end; entry.increment(error)) {
    if (is_name_of_step(entry->path().filename().string())) found.push_back(entry->path());
  }
  return found;
}

}  // namespace

void KeptCheckpoints::read(const fs::path& run, std::int64_t last_step) {
  std::vector<ModelWorth> found;
  for (const fs::path& directory : checkpoints_in(run)) {
    if (fs::exists(directory / kWorthFile)) found.push_back(read_config<ModelWorth>(directory / kWorthFile));
  }
  std::ranges::sort(found, {}, &ModelWorth::step);
  kept_.clear();
  for (const ModelWorth& model : found) {
    if (model.step <= last_step) add(model.step, model.validation);
  }
}

bool KeptCheckpoints::add(std::int64_t step, const Validation& validation) {
  const auto place = std::ranges::find_if(
      kept_, [&](const ModelWorth& other) { return is_better(validation, other.validation, by_); });
  if (place - kept_.begin() >= most_) return false;
  kept_.insert(place, {step, validation});
  if (static_cast<std::int64_t>(kept_.size()) > most_) kept_.pop_back();
  return true;
}

std::set<std::string> KeptCheckpoints::names() const {
  std::set<std::string> names;
  for (const ModelWorth& kept : kept_) names.insert(name_of_step(kept.step));
  return names;
}

std::string name_of_step(std::int64_t step) { return fmt::format("{}{:08}", kStepPrefix, step); }

void remove_other_checkpoints(const fs::path& run, const std::set<std::string>& names) {
  for (const fs::path& directory : checkpoints_in(run)) {
    if (!names.contains(directory.filename().string())) remove_listed_directory(directory);
  }
}

}  // namespace edgewise
