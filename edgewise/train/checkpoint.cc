// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/checkpoint.h"

#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <system_error>

#include "edgewise/base/config/config.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files/directory.h"
#include "edgewise/base/files/file_system.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/manifest.h"
#include "edgewise/base/files/safetensors.h"
#include "edgewise/distributed/agreement.h"
#include "edgewise/nn/serialize.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCaller = "train";
constexpr const char* kLast = "last";
constexpr const char* kPrevious = "previous";
constexpr const char* kBest = "best";
constexpr const char* kScheduledBest = "best-scheduled";
constexpr const char* kModelFile = "model.safetensors";
constexpr const char* kTrainingFile = "training.safetensors";
constexpr const char* kStateFile = "training.toml";

/// Whether training writes or removes a file or directory of this name in a run directory, and the name shows a run.
bool is_part_of_run(std::string_view name) {
  constexpr std::array kParts = {kLast, kPrevious, kBest, kScheduledBest, "metrics.jsonl", "attention.jsonl"};
  return std::ranges::find(kParts, name) != kParts.end() || is_checkpoint_name(name);
}

std::vector<std::string> names_of(const std::map<std::string, std::string>& files) {
  std::vector<std::string> names;
  names.reserve(files.size());
  for (const auto& [name, bytes] : files) names.push_back(name);
  return names;
}

/// Describes a difference between a checkpoint and its manifest, or a file that the manifest should list; returns "" if
/// there is none.
std::string find_damage(const fs::path& directory) {
  try {
    const ListedDirectory files(directory, kCaller);
    for (const char* name : {kModelFile, kTrainingFile, kStateFile}) files.require(name);
    files.verify();
    const std::string state = files.read(kStateFile, kMaxConfigBytes);
    for (const std::string& name : files_of_training_state(state)) files.require(name);
    return {};
  } catch (const UnreadableFile&) {
    throw;
  } catch (const Error& error) {
    return std::string(error.what()).substr(kCaller.size() + 2);
  }
}

/// Returns the step of a model of a validation; nothing for an absent or damaged directory.
std::optional<std::int64_t> step_of_model(const fs::path& directory) {
  try {
    const ListedDirectory files(directory, kCaller);
    const std::string scores = files.read(kScoreFile, kMaxConfigBytes);
    return parse_config<CheckpointScore>(scores, files.path(kScoreFile)).step;
  } catch (const UnreadableFile&) {
    throw;
  } catch (const Error&) {
    return std::nullopt;
  }
}

void write_directory(const Snapshot& snapshot) {
  DirectoryWriter writer(snapshot.directory, kCaller);
  for (const auto& [name, bytes] : snapshot.files) writer.write(name, bytes);
  // If RUN/best-scheduled exists, RUN/best is of a validation since the last save.
  const bool keeps_best = snapshot.directory.filename() == kBest &&
                          !path_exists(snapshot.directory.parent_path() / kScheduledBest, kCaller);
  if (snapshot.is_state) {
    writer.commit_and_keep_old_as(kPrevious);
  } else if (keeps_best) {
    writer.commit_and_keep_old_as(kScheduledBest);
  } else {
    writer.commit();
  }
}

/// Removes the models that the state of a snapshot, which is RUN/last, does not refer to.
void remove_superfluous_models(const Snapshot& snapshot) {
  const fs::path run = snapshot.directory.parent_path();
  if (path_exists(run / kScheduledBest, kCaller) && step_of_model(run / kBest) == snapshot.best_step) {
    discard_directory(run / kScheduledBest, kCaller);
  }
  if (snapshot.remaining_checkpoints) remove_checkpoints_except(run, *snapshot.remaining_checkpoints);
}

void load(std::span<const NamedTensor> tensors, const ListedDirectory& files, std::string_view name) {
  const std::string path = files.path(name);
  load_tensors(tensors, SafetensorsFile::parse(files.read(name, kAvailableMemory), path), path);
}

/// Reads the tensors of RUN/last; averages only if both the run and `tensors` have them.
void load_last(const fs::path& run, bool is_averaged, const FlatParameters& parameters,
               const TrainingTensors& tensors) {
  const ListedDirectory last(run / kLast, kCaller);
  if (!is_averaged) load(parameters.named(), last, kModelFile);
  load(tensors.of_training(parameters, is_averaged), last, kTrainingFile);
  if (is_averaged && tensors.averages.defined()) load(tensors.of_model(parameters), last, kModelFile);
}

/// Returns arrays to fill for scatter_tensors.
TrainingTensors allocate_tensors(const CheckpointObjects& objects) {
  const ProcessGroup& processes = objects.pieces.processes();
  if (processes.size() == 1) return gather_tensors(objects);
  if (processes.rank() != 0) return {};
  const at::Tensor& values = objects.parameters.values();
  return {.values = values,
          .means = at::zeros_like(values),
          .variances = at::zeros_like(values),
          .averages = objects.average == nullptr ? at::Tensor() : at::zeros_like(values)};
}

/// Copies the tensors of process 0 to the arrays of all processes, the averages only with `has_averages`.
void scatter_tensors(const TrainingTensors& tensors, const CheckpointObjects& objects, bool has_averages) {
  const OwnedPieces& pieces = objects.pieces;
  pieces.processes().broadcast(objects.parameters.values(), 0);
  pieces.scatter(tensors.means, objects.adam.means());
  pieces.scatter(tensors.variances, objects.adam.variances());
  if (has_averages) pieces.scatter(tensors.averages, objects.average->averages());
}

std::uint64_t directory_size(const fs::path& directory) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code no_file;
    const std::uint64_t size = entry->file_size(no_file);
    if (!no_file) bytes += size;
  }
  return bytes;
}

double megabytes(std::uint64_t bytes) { return static_cast<double>(bytes) / 1e6; }

}  // namespace

std::vector<NamedTensor> TrainingTensors::of_model(const FlatParameters& parameters) const {
  return parameters.views(averages.defined() ? averages : values, "");
}

std::vector<NamedTensor> TrainingTensors::of_training(const FlatParameters& parameters, bool has_values) const {
  std::vector<NamedTensor> tensors = parameters.views(means, "mean.");
  const auto append = [&](const at::Tensor& flat, const std::string& prefix) {
    for (NamedTensor& tensor : parameters.views(flat, prefix)) tensors.push_back(std::move(tensor));
  };
  append(variances, "variance.");
  if (has_values) append(values, "value.");
  return tensors;
}

TrainingTensors gather_tensors(const CheckpointObjects& objects) {
  const OwnedPieces& pieces = objects.pieces;
  return {.values = pieces.processes().rank() == 0 ? objects.parameters.values() : at::Tensor(),
          .means = pieces.gather(objects.adam.means()),
          .variances = pieces.gather(objects.adam.variances()),
          .averages = objects.average == nullptr ? at::Tensor() : pieces.gather(objects.average->averages())};
}

void require_no_run(const fs::path& run) {
  if (!path_exists(run, kCaller)) return;
  std::error_code error;
  check(fs::is_directory(run, error), "train: {} is a file, needs a directory", run.string());
  for (fs::directory_iterator entry(run, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    check(!is_part_of_run(name),
          "train: {} holds a run ({}), needs a directory without one; go on with it by --resume, or choose another",
          run.string(), name);
    check(name != kManifestName, "train: {} is a model ({}), needs a directory without one; choose another",
          run.string(), name);
  }
  check(!error, "train: {}: {}", run.string(), error.message());
}

Snapshot snapshot_model(const fs::path& directory, TrainingTask& task, const FlatParameters& parameters,
                        const CheckpointScore& score) {
  require_finite(directory, parameters, score.step);
  Snapshot snapshot{.step = score.step, .directory = directory, .files = task.model_files()};
  snapshot.files[kModelFile] = serialize_tensors(parameters.named());
  snapshot.files[kScoreFile] = to_toml(score);
  return snapshot;
}

void require_finite(const fs::path& directory, const FlatParameters& parameters, std::int64_t step) {
  for (const auto& [parameter, range] : parameters.parameters()) {
    // The maximum norm takes one pass over memory; at::isfinite takes several.
    const auto largest = at::linalg_vector_norm(parameter.tensor.detach(), std::numeric_limits<double>::infinity());
    check(std::isfinite(largest.item<double>()),
          "train: parameter \"{}\" is not finite at step {}, needs finite numbers; {} stays as it was, go on from it "
          "with a lower learning rate",
          parameter.name, step, directory.filename().string());
  }
}

Snapshot snapshot_last(const fs::path& run, const CheckpointObjects& objects, const TrainingTensors& tensors,
                       const TrainingState& state) {
  Snapshot snapshot{.step = state.step, .directory = run / kLast, .files = objects.task.model_files()};
  snapshot.files[kModelFile] = serialize_tensors(tensors.of_model(objects.parameters));
  snapshot.files[kTrainingFile] =
      serialize_tensors(tensors.of_training(objects.parameters, /*has_values=*/tensors.averages.defined()));
  snapshot.files[kStateFile] = training_state_text(state, objects.task.kind(), names_of(snapshot.files));
  snapshot.is_state = true;
  snapshot.best_step = state.best_step;
  return snapshot;
}

void write_snapshot(Snapshot& snapshot) {
  if (!snapshot.is_written) write_directory(snapshot);
  snapshot.is_written = true;
  snapshot.files.clear();
  if (snapshot.is_state) remove_superfluous_models(snapshot);
}

void put_best_back(const fs::path& run, const TrainingState& saved) {
  const fs::path best = run / kBest;
  const fs::path kept = run / kScheduledBest;
  const auto is_best_of_state = [&](const fs::path& model) {
    return saved.best && step_of_model(model) == saved.best_step;
  };
  const bool is_best_kept = !is_best_of_state(best) && is_best_of_state(kept);
  if (is_best_kept) put_directory(kept, best, kCaller);
  discard_directory(kept, kCaller);
  if (!saved.best || step_of_model(best) > saved.best_step) discard_directory(best, kCaller);
}

std::string restore_last(const fs::path& run) {
  const fs::path last = run / kLast;
  const fs::path previous = run / kPrevious;
  remove_leftovers(run);
  check(path_exists(last, kCaller) || path_exists(previous, kCaller),
        "train: {} has no {}, needs a run to go on with; leave --resume out to begin one", run.string(), kLast);
  const std::string damage = find_damage(last);
  if (damage.empty()) return {};
  const std::string older_damage = find_damage(previous);
  check(older_damage.empty(), "train: {} has no whole checkpoint: {}; {}", run.string(), damage, older_damage);
  put_directory(previous, last, kCaller);
  return fmt::format("{} is damaged ({}); {} has taken its place", last.string(), damage, previous.string());
}

TrainingState read_last_state(const fs::path& run, const std::string& kind) {
  const ListedDirectory last(run / kLast, kCaller);
  return parse_training_state(last.read(kStateFile, kMaxConfigBytes), last.path(kStateFile), kind);
}

void read_last_tensors(const fs::path& run, const TrainingState& state, const CheckpointObjects& objects) {
  const bool is_averaged = state.averaged.has_value();
  const TrainingTensors tensors = allocate_tensors(objects);
  on_first_process(objects.pieces.processes(), [&] { load_last(run, is_averaged, objects.parameters, tensors); });
  scatter_tensors(tensors, objects, /*has_averages=*/is_averaged && objects.average != nullptr);
  if (objects.average == nullptr) return;
  if (is_averaged) {
    objects.average->set_num_updates(*state.averaged);
  } else {
    objects.average->begin();
  }
}

void require_space(const fs::path& run, const CheckpointSizes& sizes) {
  constexpr std::uint64_t kStates = 3;  // RUN/last, RUN/previous, and the next state while it is written
  const std::uint64_t needed = kStates * sizes.state + static_cast<std::uint64_t>(sizes.models) * sizes.model;
  const std::uint64_t present = directory_size(run);
  if (present >= needed) return;
  const std::uint64_t free = file_system().free_bytes(run);
  check(free >= needed - present,
        "train: the disk of {} has {:.1f} MB left, needs {:.1f} MB for checkpoints; make room, or choose another "
        "directory",
        run.string(), megabytes(free), megabytes(needed - present));
}

}  // namespace edgewise
