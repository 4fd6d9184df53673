// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "edgewise/train/adam.h"
#include "edgewise/train/kept_checkpoints.h"
#include "edgewise/train/task.h"
#include "edgewise/train/training_state.h"
#include "edgewise/train/weight_average.h"

// A run directory:
//
//     last/            the newest state: a model directory, and training.safetensors and training.toml
//     previous/        the state before: taken when last/ is damaged
//     best/            the model of the best validation
//     step-00001200/   the models of the best validations, as many as keep_best says
//     metrics.jsonl    metrics.h
//     lock             run_lock.h
//
// A model directory holds model.safetensors, the task's model files and manifest.json; base/directory.h says what
// happens when the disk is full or the power goes. Those of validated models say in validation.toml what they are
// worth. Where weights are averaged, the averages are in every model.safetensors. training.safetensors has what only
// training needs: Adam's moments and, where the model has the averages, the weights themselves.

namespace edgewise {

/// What a checkpoint is made of, and read into; no averages are kept when that is null.
struct Trained {
  TrainingTask& task;
  Adam& adam;
  WeightAverage* average = nullptr;
};

/// Throws Error when the directory already holds a run, or is no directory; a missing one is well.
void require_no_run(const std::filesystem::path& run);

/// A model directory that is not written yet: a copy of the state as bytes, so that training can go on meanwhile.
struct Snapshot {
  std::int64_t step = 0;
  std::filesystem::path directory;
  std::map<std::string, std::string> files;        // name to bytes
  std::string old_name = {};                       // what the directory that it replaces becomes; empty: it goes
  std::optional<std::set<std::string>> kept = {};  // the kept checkpoints that stay behind it; unset: all
};

/// Of a model that was validated, for RUN/best or a kept checkpoint. Throws Error for numbers that are not finite.
Snapshot snapshot_model(const std::filesystem::path& directory, const Trained& trained, const ModelWorth& worth);

/// Of RUN/last; likewise. What was there becomes RUN/previous.
Snapshot snapshot_last(const std::filesystem::path& run, const Trained& trained, const TrainingState& state);

/// Replaces the directory; whatever goes wrong, there is a whole one: the old or the new.
void write_snapshot(const Snapshot& snapshot);

/// Checks that all files of RUN/last are as they were written. Where they are not, puts RUN/previous in its place if
/// that is whole, and says so; says nothing else. Throws Error when there is no whole one.
std::string restore_last(const std::filesystem::path& run);

/// What RUN/last says of its training. Throws Error for a directory that holds no training and for a run of another
/// kind.
TrainingState read_last_state(const std::filesystem::path& run, const std::string& kind);

/// Reads RUN/last, whose state was read, into the parameters, moments and averages. Throws Error, and leaves parameters
/// as they were, when they are not those of the run: with all that are missing, too many, or of another shape or dtype.
/// Averages that the run has none of begin anew with the parameters.
void read_last_tensors(const std::filesystem::path& run, const TrainingState& state, const Trained& trained);

}  // namespace edgewise
