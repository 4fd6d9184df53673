// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/checkpoint.h"

#include <ATen/ops/linalg_vector_norm.h>

#include <cmath>
#include <limits>
#include <system_error>

#include "edgewise/base/config.h"
#include "edgewise/base/directory.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files.h"
#include "edgewise/base/safetensors.h"
#include "edgewise/nn/serialize.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModelFile = "model.safetensors";
constexpr const char* kMomentsFile = "training.safetensors";
constexpr const char* kStateFile = "training.toml";

/// training.toml.
struct StateFile {
  std::int64_t format = 1;
  std::string kind;
  bool has_best = false;
  Validation best;
  TrainingState state;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    auto& state = self.state;
    field("format", self.format, "of this file", at_least(1).at_most(1));
    field("kind", self.kind, "what the model is");
    field("step", state.step, "steps done", at_least(0));
    field("updates", state.updates, "those whose gradients were finite", at_least(0));
    field("epoch", state.position.epoch, "epochs done", at_least(0));
    field("batch", state.position.index, "batches of the next epoch done", at_least(0));
    field("seed", state.seed, "of all random numbers");
    field("data_fingerprint", state.data_fingerprint, "of training pairs and batch options");
    field("log_loss", state.log.loss, "sum since the last line of metrics");
    field("log_tokens", state.log.tokens, "tokens since then", at_least(0));
    field("log_correct", state.log.correct, "correct ones among them", at_least(0));
    field("validated_step", state.validated_step, "step of the last validation", at_least(0));
    field("validations_since_best", state.validations_since_best, "validations after the best", at_least(0));
    field("plateau_cuts", state.plateau.cuts, "cuts of the learning rate so far", at_least(0));
    field("plateau_waits", state.plateau.waits, "validations without improvement since", at_least(0));
    field("has_best", self.has_best, "whether there was a validation");
    field("best_step", state.best_step, "step of the best validation", at_least(0));
    field("best_loss", self.best.loss, "its loss per token");
    field("best_accuracy", self.best.accuracy, "its share of correct tokens");
    field("best_sequence_accuracy", self.best.sequence_accuracy, "its share of correct sentences");
    field("best_bleu", self.best.bleu, "its BLEU");
  }
};

void check_finite(const char* directory, TrainingTask& task, std::int64_t step) {
  for (const NamedTensor& parameter : task.parameters()) {
    // The largest number: one pass, which training waits for, where at::isfinite makes several.
    const auto largest = at::linalg_vector_norm(parameter.tensor.detach(), std::numeric_limits<double>::infinity());
    check(std::isfinite(largest.item<double>()),
          "train: parameter \"{}\" is not finite at step {}, needs finite numbers; {} stays as it was, go on from it "
          "with "
          "a lower learning rate",
          parameter.name, step, directory);
  }
}

Snapshot snapshot_model(const fs::path& directory, TrainingTask& task, std::int64_t step) {
  check_finite(directory.filename().c_str(), task, step);
  Snapshot snapshot{.step = step, .directory = directory, .files = task.model_files()};
  snapshot.files[kModelFile] = serialize_tensors(task.parameters());
  return snapshot;
}

}  // namespace

void require_no_run(const fs::path& run) {
  std::error_code error;
  if (!fs::exists(run, error)) return;
  check(fs::is_directory(run, error), "train: {} is a file, needs a directory", run.string());
  for (const char* part : {"last", "best", "metrics.jsonl"}) {
    check(!fs::exists(fs::symlink_status(run / part, error)),
          "train: {} holds a run ({}), needs a directory without one; go on with it by --resume, or choose another",
          run.string(), part);
  }
}

Snapshot snapshot_best(const fs::path& run, TrainingTask& task, std::int64_t step) {
  return snapshot_model(run / "best", task, step);
}

Snapshot snapshot_last(const fs::path& run, TrainingTask& task, const Adam& adam, const TrainingState& state) {
  Snapshot snapshot = snapshot_model(run / "last", task, state.step);
  StateFile file{.kind = task.kind(), .has_best = state.best.has_value(), .best = {}, .state = state};
  if (state.best) file.best = *state.best;
  snapshot.files[kMomentsFile] = serialize_tensors(adam.moments());
  snapshot.files[kStateFile] = to_toml(file);
  return snapshot;
}

void write_snapshot(const Snapshot& snapshot) {
  DirectoryWriter writer(snapshot.directory, "train");
  for (const auto& [name, bytes] : snapshot.files) writer.write(name, bytes);
  writer.commit();
}

TrainingState read_last_state(const fs::path& run, const std::string& kind) {
  const fs::path last = run / "last";
  std::error_code error;
  check(fs::exists(last / "manifest.json", error),
        "train: {} has no last/manifest.json, needs a run to go on with; leave --resume out to begin one",
        run.string());
  verify_manifest(last, "train");
  check(fs::exists(last / kStateFile, error), "train: {} has no {}, needs one; it is a model, not the state of a run",
        last.string(), kStateFile);
  StateFile file = read_config<StateFile>(last / kStateFile);
  check(file.kind == kind, "train: {} holds a model of kind \"{}\", needs \"{}\"", last.string(), file.kind, kind);
  if (file.has_best) file.state.best = file.best;
  return file.state;
}

void read_last_tensors(const fs::path& run, Adam& adam) {
  const auto load = [&run](std::span<const NamedTensor> tensors, const char* name) {
    const fs::path path = run / "last" / name;
    load_tensors(tensors, SafetensorsFile::open(path), path.string());
  };
  load(adam.parameters(), kModelFile);
  load(adam.moments(), kMomentsFile);
}

}  // namespace edgewise
