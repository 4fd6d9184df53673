// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "edgewise/infer/model_files.h"
#include "edgewise/infer/runtime_model.h"
#include "edgewise/models/transformer.h"
#include "edgewise/options/experiment.h"

namespace edgewise {

/// A model that can translate: what it was trained with, and on.
struct TranslationModel {
  Experiment experiment;
  Vocabularies vocabularies;
  Transformer transformer;
};

/// The model of an experiment, with the vocabularies' sizes and parameters that are a function of its seed.
Transformer make_transformer(const Experiment& experiment, const Vocabularies& vocabularies);

/// A model as it is now, packed for translating; it does not follow the model's changes.
RuntimeModel packed(const Transformer& transformer, RuntimePrecision precision);

/// What a model directory holds beside model.safetensors and manifest.json: config.toml and the vocabularies.
std::map<std::string, std::string> model_files(const Experiment& experiment, const Vocabularies& vocabularies);

/// The model of a directory that was read.
TranslationModel load_model(ModelFiles files);

/// Reads a model directory or that of a run, after checking every file's size and SHA-256.
TranslationModel open_model(const std::filesystem::path& path);

}  // namespace edgewise
