// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "edgewise/data/batches.h"
#include "edgewise/train/adam.h"
#include "edgewise/train/schedule.h"
#include "edgewise/train/task.h"

// A run directory:
//
//     last/          the newest state: a model directory, and training.safetensors (Adam's moments) and training.toml
//     best/          the model of the best validation
//     metrics.jsonl  metrics.h
//     lock           run_lock.h
//
// A model directory holds model.safetensors, the task's model files and manifest.json; base/directory.h says what
// happens when the disk is full or the power goes.

namespace edgewise {

/// What training needs beside parameters and moments to go on as if it had never stopped.
struct TrainingState {
  std::int64_t step = 0;
  std::int64_t updates = 0;  // steps without those skipped for gradients that were not finite
  Position position;
  LogSums log;  // since the last line of metrics
  std::optional<Validation> best;
  std::int64_t best_step = 0;
  std::int64_t validated_step = 0;
  std::int64_t validations_since_best = 0;
  Plateau plateau;
  std::uint64_t seed = 0;
  std::uint64_t data_fingerprint = 0;  // BatchStream's
};

/// Throws Error when the directory already holds a run, or is no directory; a missing one is well.
void require_no_run(const std::filesystem::path& run);

/// A model directory that is not written yet: a copy of the state as bytes, so that training can go on meanwhile.
struct Snapshot {
  std::int64_t step = 0;
  std::filesystem::path directory;
  std::map<std::string, std::string> files;  // name to bytes
};

/// Of RUN/best. Throws Error for parameters that are not finite.
Snapshot snapshot_best(const std::filesystem::path& run, TrainingTask& task, std::int64_t step);

/// Of RUN/last; likewise.
Snapshot snapshot_last(const std::filesystem::path& run, TrainingTask& task, const Adam& adam,
                       const TrainingState& state);

/// Replaces the directory; whatever goes wrong, there is a whole one: the old or the new.
void write_snapshot(const Snapshot& snapshot);

/// What RUN/last says of its training, once all its files are found to be as they were written. Throws Error for a
/// directory without a run and for a run of another kind.
TrainingState read_last_state(const std::filesystem::path& run, const std::string& kind);

/// Reads RUN/last into the parameters and moments of `adam`. Throws Error, and changes nothing, when the parameters are
/// not those of the run: with all that are missing, too many, or of another shape or dtype.
void read_last_tensors(const std::filesystem::path& run, Adam& adam);

}  // namespace edgewise
