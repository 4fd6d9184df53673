// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "edgewise/translate/model_files.h"
#include "edgewise/translate/translator.h"
#include "edgewise/models/sequence_model.h"
#include "edgewise/options/experiment.h"

namespace edgewise {

/// A model that can translate: what it was trained with, and on.
struct TranslationModel {
  Experiment experiment;
  Vocabularies vocabularies;
  std::shared_ptr<const SequenceModel> model;
};

/// The model of an experiment, with the vocabularies' sizes and parameters that are a function of its seed.
std::shared_ptr<const SequenceModel> make_model(const Experiment& experiment, const Vocabularies& vocabularies);

/// What people call a kind of model.
std::string_view model_name(ModelKind kind);

/// Scorers over a model as it is now, packed for translating in fp32; they do not follow its changes.
Translator::MakeScorer scorers_of(const SequenceModel& model);

/// What a model directory holds beside model.safetensors and manifest.json: config.toml and the vocabularies.
std::map<std::string, std::string> model_files(const Experiment& experiment, const Vocabularies& vocabularies);

/// The model of a directory that was read.
TranslationModel load_model(ModelFiles files);

/// Reads a model directory or that of a run, after checking every file's size and SHA-256.
TranslationModel open_model(const std::filesystem::path& path);

}  // namespace edgewise
