// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/checkpoint.h"

#include <ATen/ops/linalg_vector_norm.h>

#include <cmath>
#include <limits>
#include <system_error>
#include <vector>

#include "edgewise/base/config.h"
#include "edgewise/base/directory.h"
#include "edgewise/base/error.h"
#include "edgewise/base/safetensors.h"
#include "edgewise/nn/serialize.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCaller = "train";
constexpr const char* kLast = "last";
constexpr const char* kPrevious = "previous";
constexpr const char* kModelFile = "model.safetensors";
constexpr const char* kTrainingFile = "training.safetensors";
constexpr const char* kStateFile = "training.toml";

void check_finite(const fs::path& directory, std::span<const NamedTensor> tensors, std::int64_t step) {
  for (const NamedTensor& parameter : tensors) {
    // The largest number: one pass, which training waits for, where at::isfinite makes several.
    const auto largest = at::linalg_vector_norm(parameter.tensor.detach(), std::numeric_limits<double>::infinity());
    check(std::isfinite(largest.item<double>()),
          "train: parameter \"{}\" is not finite at step {}, needs finite numbers; {} stays as it was, go on from it "
          "with a lower learning rate",
          parameter.name, step, directory.filename().string());
  }
}

/// What training.safetensors holds.
std::vector<NamedTensor> training_tensors(const Trained& trained, bool is_averaged) {
  std::vector<NamedTensor> tensors = trained.adam.moments();
  if (!is_averaged) return tensors;
  for (const NamedTensor& parameter : trained.adam.parameters()) {
    tensors.push_back({"value." + parameter.name, parameter.tensor});
  }
  return tensors;
}

Snapshot snapshot_of(const fs::path& directory, const Trained& trained, std::int64_t step) {
  check_finite(directory, trained.adam.parameters(), step);
  const std::span<const NamedTensor> model =
      trained.average == nullptr ? trained.adam.parameters() : trained.average->tensors();
  Snapshot snapshot{.step = step, .directory = directory, .files = trained.task.model_files()};
  snapshot.files[kModelFile] = serialize_tensors(model);
  return snapshot;
}

/// What keeps a directory from being as it was written; empty: nothing.
std::string damage_of(const fs::path& directory) {
  try {
    verify_manifest(directory, kCaller);
    return {};
  } catch (const Error& error) {
    return std::string(error.what()).substr(kCaller.size() + 2);
  }
}

void load(std::span<const NamedTensor> tensors, const fs::path& path) {
  load_tensors(tensors, SafetensorsFile::open(path), path.string());
}

}  // namespace

void require_no_run(const fs::path& run) {
  std::error_code error;
  if (!fs::exists(run, error)) return;
  check(fs::is_directory(run, error), "train: {} is a file, needs a directory", run.string());
  for (const char* part : {kLast, kPrevious, "best", "metrics.jsonl"}) {
    check(!fs::exists(fs::symlink_status(run / part, error)),
          "train: {} holds a run ({}), needs a directory without one; go on with it by --resume, or choose another",
          run.string(), part);
  }
}

Snapshot snapshot_model(const fs::path& directory, const Trained& trained, const ModelWorth& worth) {
  Snapshot snapshot = snapshot_of(directory, trained, worth.step);
  snapshot.files[kWorthFile] = to_toml(worth);
  return snapshot;
}

Snapshot snapshot_last(const fs::path& run, const Trained& trained, const TrainingState& state) {
  Snapshot snapshot = snapshot_of(run / kLast, trained, state.step);
  snapshot.files[kTrainingFile] = serialize_tensors(training_tensors(trained, state.averaged.has_value()));
  snapshot.files[kStateFile] = training_state_text(state, trained.task.kind());
  snapshot.old_name = kPrevious;
  return snapshot;
}

void write_snapshot(const Snapshot& snapshot) {
  DirectoryWriter writer(snapshot.directory, kCaller);
  for (const auto& [name, bytes] : snapshot.files) writer.write(name, bytes);
  if (snapshot.old_name.empty()) {
    writer.commit();
  } else {
    writer.commit_and_keep_old_as(snapshot.old_name);
  }
  if (snapshot.kept) remove_other_checkpoints(snapshot.directory.parent_path(), *snapshot.kept);
}

std::string restore_last(const fs::path& run) {
  std::error_code error;
  const fs::path last = run / kLast;
  const fs::path previous = run / kPrevious;
  check(fs::exists(last, error) || fs::exists(previous, error),
        "train: {} has no {}, needs a run to go on with; leave --resume out to begin one", run.string(), kLast);
  const std::string damage = damage_of(last);
  if (damage.empty()) return {};
  const std::string older_damage = damage_of(previous);
  check(older_damage.empty(), "train: {} has no whole checkpoint: {}; {}", run.string(), damage, older_damage);
  put_directory(previous, last, kCaller);
  return fmt::format("{} is damaged ({}); {} has taken its place", last.string(), damage, previous.string());
}

TrainingState read_last_state(const fs::path& run, const std::string& kind) {
  const fs::path last = run / kLast;
  std::error_code error;
  check(fs::exists(last / kStateFile, error), "train: {} has no {}, needs one; it is a model, not the state of a run",
        last.string(), kStateFile);
  return read_training_state(last / kStateFile, kind);
}

void read_last_tensors(const fs::path& run, const TrainingState& state, const Trained& trained) {
  const fs::path last = run / kLast;
  const bool is_averaged = state.averaged.has_value();
  if (!is_averaged) load(trained.adam.parameters(), last / kModelFile);
  load(training_tensors(trained, is_averaged), last / kTrainingFile);
  if (trained.average == nullptr) return;
  trained.average->begin();
  if (!is_averaged) return;
  load(trained.average->tensors(), last / kModelFile);
  trained.average->set_num_updates(*state.averaged);
}

}  // namespace edgewise
