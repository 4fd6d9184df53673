// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "edgewise/base/safetensors.h"
#include "edgewise/translate/vocabulary_files.h"
#include "edgewise/options/experiment.h"

namespace edgewise {

// The names of what lies in a model directory beside its vocabularies (vocabulary_files.h).
inline constexpr std::string_view kConfigFile = "config.toml";
inline constexpr std::string_view kParametersFile = "model.safetensors";
inline constexpr std::string_view kManifestFile = "manifest.json";

/// A model directory in memory.
struct ModelFiles {
  Experiment experiment;
  Vocabularies vocabularies;
  SafetensorsFile parameters;
  std::string parameters_name;  // what errors call them
};

/// Where the model is: the path itself, or, of a run, its best one, or else its last. Throws Error when it is none of
/// these; errors begin with `caller`.
std::filesystem::path find_model(const std::filesystem::path& path, std::string_view caller);

/// Reads a model directory or that of a run, after checking every file's size and SHA-256.
ModelFiles read_model_files(const std::filesystem::path& path, std::string_view caller);

/// The model of an experiment, with the vocabularies' sizes.
TransformerOptions transformer_options(const Experiment& experiment, const Vocabularies& vocabularies);

}  // namespace edgewise
