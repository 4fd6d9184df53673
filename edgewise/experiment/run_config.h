// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "edgewise/options/experiment.h"
#include "edgewise/translate/model_files.h"

// Configs of runs whose model exists before their training: options that decide the model need not be given again.

namespace edgewise {

/// Reads the config of a run that starts from the parameters of a model or run directory. Options of [model],
/// [vocabulary] and [search], data.end_input and the languages of [data] that the config leaves out have the values of
/// the model; vocabulary.file names the directory.
Experiment read_fine_tuning_config(const std::filesystem::path& config, std::span<const std::string> overrides,
                                   const std::filesystem::path& model);

/// Reads the config of a run to be resumed. The same options have the values of the run's last checkpoint whose config
/// can be read, or if there is none, those of read_experiment.
Experiment read_resumed_config(const std::filesystem::path& config, std::span<const std::string> overrides,
                               const std::filesystem::path& run);

/// Reads the model from which a run starts. Throws Error as read_model_files and check_start do.
ModelFiles read_start_model(const std::filesystem::path& model, const Experiment& experiment);

}  // namespace edgewise
