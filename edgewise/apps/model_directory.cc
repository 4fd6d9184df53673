// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/model_directory.h"

#include "edgewise/base/config.h"
#include "edgewise/base/directory.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files.h"
#include "edgewise/base/safetensors.h"
#include "edgewise/nn/serialize.h"

namespace edgewise {
namespace {

constexpr std::string_view kConfigFile = "config.toml";
constexpr std::string_view kParametersFile = "model.safetensors";
constexpr std::string_view kManifestFile = "manifest.json";
constexpr std::string_view kInputPrefix = "input_";
constexpr std::string_view kOutputPrefix = "output_";

std::shared_ptr<const Vocabulary> read_vocabulary(const std::filesystem::path& directory, std::string_view prefix) {
  for (const std::string_view name : {"vocabulary.txt", "vocabulary.model"}) {
    const std::filesystem::path file = directory / (std::string(prefix) + std::string(name));
    if (std::filesystem::exists(file)) return parse_vocabulary(read_file(file, "open_model"), file.string());
  }
  fail("open_model: {} has no {}vocabulary.txt or {}vocabulary.model, needs one of them", directory.string(), prefix,
       prefix);
}

Vocabularies read_vocabularies(const std::filesystem::path& directory, bool shared) {
  if (shared) {
    const auto both = read_vocabulary(directory, "");
    return {both, both};
  }
  return {read_vocabulary(directory, kInputPrefix), read_vocabulary(directory, kOutputPrefix)};
}

}  // namespace

Transformer make_transformer(const Experiment& experiment, const Vocabularies& vocabularies) {
  TransformerOptions options = experiment.model;
  options.input_vocabulary = vocabularies.input->size();
  options.output_vocabulary = vocabularies.output->size();
  return Transformer(options, experiment.train.seed);
}

std::map<std::string, std::string> model_files(const Experiment& experiment, const Vocabularies& vocabularies) {
  std::map<std::string, std::string> files;
  files[std::string(kConfigFile)] = to_toml(experiment, TomlComments::kHelp);
  const auto add = [&files](std::string_view prefix, const Vocabulary& vocabulary) {
    files[std::string(prefix) + std::string(vocabulary.file_name())] = vocabulary.serialize();
  };
  if (experiment.vocabulary.shared) {
    add("", *vocabularies.input);
  } else {
    add(kInputPrefix, *vocabularies.input);
    add(kOutputPrefix, *vocabularies.output);
  }
  return files;
}

std::filesystem::path find_model(const std::filesystem::path& path, std::string_view caller) {
  check(std::filesystem::exists(path), "{}: {} does not exist, a run or model directory is needed", caller,
        path.string());
  for (const std::filesystem::path& place : {path, path / "best", path / "last"}) {
    if (std::filesystem::exists(place / kManifestFile)) return place;
  }
  fail("{}: {} holds no model, a directory with {} (or with best/ or last/ that have one) is needed", caller,
       path.string(), kManifestFile);
}

TranslationModel open_model(const std::filesystem::path& path) {
  const std::filesystem::path directory = find_model(path, "open_model");
  verify_manifest(directory, "open_model");
  const std::filesystem::path config = directory / kConfigFile;
  Experiment experiment = read_experiment(config);
  Vocabularies vocabularies = read_vocabularies(directory, experiment.vocabulary.shared);
  Transformer transformer = make_transformer(experiment, vocabularies);
  const std::filesystem::path parameters_file = directory / kParametersFile;
  load_tensors(parameters(transformer), SafetensorsFile::open(parameters_file), parameters_file.string());
  return {std::move(experiment), std::move(vocabularies), std::move(transformer)};
}

}  // namespace edgewise
