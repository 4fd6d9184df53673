// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "edgewise/train/adam.h"
#include "edgewise/train/best_checkpoints.h"
#include "edgewise/train/flat_parameters.h"
#include "edgewise/train/task.h"
#include "edgewise/train/training_state.h"
#include "edgewise/train/weight_average.h"

// A run directory:
//
//     last/            the newest state: a model directory with training.safetensors and training.toml
//     previous/        the state saved before last/, which replaces a damaged last/
//     best/            the model of the best validation
//     best-scheduled/  the model of the best validation that last/ has, if best/ is of a later validation: one since
//                      the last save, or the last validation of a run, which was not due
//     step-00001200/   the models of the keep_best best validations that were due
//     metrics.jsonl    the metrics (metrics.h)
//     lock             the lock file (run_files.h)
//
// A model directory holds model.safetensors, the task's model files, manifest.json and, for a validated model,
// validation.toml with its scores; base/files/directory.h describes writing on a full disk or at a power failure. With
// weight averaging, each model.safetensors holds the averages. training.safetensors holds Adam's moments and, with
// averaging, the weights themselves. Of several processes that train together, process 0 alone has a run directory; the
// files do not depend on the number of processes.

namespace edgewise {

/// The objects whose state a checkpoint saves and restores; a null `average` means no averaging.
struct CheckpointObjects {
  TrainingTask& task;
  const FlatParameters& parameters;
  const OwnedPieces& pieces;
  Adam& adam;
  WeightAverage* average = nullptr;
};

/// The flat arrays (FlatParameters) of a checkpoint, whole in process 0 and undefined in the others. Without averaging,
/// `averages` is undefined.
struct TrainingTensors {
  at::Tensor values;
  at::Tensor means;
  at::Tensor variances;
  at::Tensor averages;

  /// Returns the tensors of model.safetensors: the averages or, without averaging, the weights.
  std::vector<NamedTensor> of_model(const FlatParameters& parameters) const;

  /// Returns the tensors of training.safetensors: Adam's moments and, with `has_values`, the weights.
  std::vector<NamedTensor> of_training(const FlatParameters& parameters, bool has_values) const;
};

/// Returns the arrays of all processes to process 0. In a single process, the results share the memory of the arrays.
/// All processes call this function.
TrainingTensors gather_tensors(const CheckpointObjects& objects);

/// Throws Error when `run` already holds a run or is not a directory. A missing directory is no error.
void require_no_run(const std::filesystem::path& run);

/// A checkpoint in memory: a copy of the state as bytes, so that training continues while the copy is written.
struct Snapshot {
  std::int64_t step = 0;
  std::filesystem::path directory;
  std::map<std::string, std::string> files;  // name to bytes; empty when written
  bool is_state = false;                     // RUN/last; the RUN/last that it replaces becomes RUN/previous
  bool is_written = false;                   // the directory is written, but superfluous models may still be there
  std::int64_t best_step = 0;                // the step of the best validation of a state
  std::optional<std::set<std::string>> remaining_checkpoints = {};  // step-* directories to keep; unset: all
};

/// Copies a validated model, for RUN/best or RUN/step-00001200. `parameters` have the values that were validated.
/// Throws Error for parameters that are not finite.
Snapshot snapshot_model(const std::filesystem::path& directory, TrainingTask& task, const FlatParameters& parameters,
                        const CheckpointScore& score);

/// Throws Error if parameters are not finite. `step` and `directory` are those of the snapshot to take.
void require_finite(const std::filesystem::path& directory, const FlatParameters& parameters, std::int64_t step);

/// Copies the state for RUN/last, with the tensors that gather_tensors returned. Called after require_finite.
Snapshot snapshot_last(const std::filesystem::path& run, const CheckpointObjects& objects,
                       const TrainingTensors& tensors, const TrainingState& state);

/// Writes a snapshot to its directory. After a failure at any time, the old or the new directory is complete. A
/// RUN/best that the saved state refers to becomes RUN/best-scheduled, until a later state is saved. After a state is
/// written, removes the models that no state refers to; if one cannot be removed, throws Error, and the next call tries
/// again.
void write_snapshot(Snapshot& snapshot);

/// Makes the best model of the saved state RUN/best, from RUN/best-scheduled if necessary. Removes RUN/best-scheduled,
/// and a RUN/best of a later validation. Throws Error when one of them cannot be moved or read.
void put_best_back(const std::filesystem::path& run, const TrainingState& saved);

/// Removes the leftovers of killed processes from a run. Then replaces a damaged or missing RUN/last by an undamaged
/// RUN/previous and returns a description of the damage; returns "" for an undamaged RUN/last. A checkpoint that does
/// not list all files with which it was written is damaged. Throws Error when both are damaged or missing, and when the
/// system does not read one of them: a missing permission or an I/O error may pass, and is no damage. Reads all files
/// once. The caller holds the run's lock.
std::string restore_last(const std::filesystem::path& run);

/// Reads training.toml of RUN/last. Throws Error for a directory without training.toml and for a run of another kind.
TrainingState read_last_state(const std::filesystem::path& run, const std::string& kind);

/// Reads parameters, moments and averages of RUN/last in process 0, and gives them to all processes, which call this
/// function together; `state` is the result of read_last_state. If the run has no averages, they start from the
/// parameters. When names, shapes or dtypes differ from those of the run, leaves the parameters unchanged and throws an
/// Error that lists all differences.
void read_last_tensors(const std::filesystem::path& run, const TrainingState& state, const CheckpointObjects& objects);

/// Upper estimates of the disk space of a run's checkpoints, in bytes.
struct CheckpointSizes {
  std::uint64_t model = 0;
  std::uint64_t state = 0;  // RUN/last, which contains a model
  std::int64_t models = 0;  // number of models: RUN/best and RUN/step-*
};

/// Throws Error when the disk of a run directory, which must exist, has too little space for three states and `models`
/// models. Bytes that the run already occupies count as free.
void require_space(const std::filesystem::path& run, const CheckpointSizes& sizes);

}  // namespace edgewise
