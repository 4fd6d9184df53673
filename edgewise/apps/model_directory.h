// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "edgewise/apps/experiment.h"
#include "edgewise/models/transformer.h"
#include "edgewise/text/vocabulary.h"

namespace edgewise {

/// Of both sides; one and the same when they share it.
struct Vocabularies {
  std::shared_ptr<const Vocabulary> input;
  std::shared_ptr<const Vocabulary> output;
};

/// A model that can translate: what it was trained with, and on.
struct TranslationModel {
  Experiment experiment;
  Vocabularies vocabularies;
  Transformer transformer;
};

/// The model of an experiment, with the vocabularies' sizes and parameters that are a function of its seed.
Transformer make_transformer(const Experiment& experiment, const Vocabularies& vocabularies);

/// What a model directory holds beside model.safetensors and manifest.json: config.toml and the vocabularies.
std::map<std::string, std::string> model_files(const Experiment& experiment, const Vocabularies& vocabularies);

/// Where the model is: the path itself, or, of a run, its best one, or else its last. Throws Error when it is none of
/// these; errors begin with `caller`.
std::filesystem::path find_model(const std::filesystem::path& path, std::string_view caller);

/// Reads a model directory or that of a run, after checking every file's size and SHA-256.
TranslationModel open_model(const std::filesystem::path& path);

}  // namespace edgewise
