// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/model_files.h"

#include "edgewise/base/directory.h"
#include "edgewise/base/error.h"

namespace edgewise {
std::filesystem::path find_model(const std::filesystem::path& path, std::string_view caller) {
  check(std::filesystem::exists(path), "{}: {} does not exist, a run or model directory is needed", caller,
        path.string());
  for (const std::filesystem::path& place : {path, path / "best", path / "last"}) {
    if (std::filesystem::exists(place / kManifestFile)) return place;
  }
  fail("{}: {} holds no model, a directory with {} (or with best/ or last/ that have one) is needed", caller,
       path.string(), kManifestFile);
}

ModelFiles read_model_files(const std::filesystem::path& path, std::string_view caller) {
  const std::filesystem::path directory = find_model(path, caller);
  verify_manifest(directory, caller);
  Experiment experiment = read_experiment(directory / kConfigFile);
  Vocabularies vocabularies = read_vocabularies(directory, experiment.vocabulary.shared, caller);
  const std::filesystem::path parameters = directory / kParametersFile;
  return {std::move(experiment), std::move(vocabularies), SafetensorsFile::open(parameters), parameters.string()};
}

TransformerOptions transformer_options(const Experiment& experiment, const Vocabularies& vocabularies) {
  TransformerOptions options = experiment.model;
  options.input_vocabulary = vocabularies.input->size();
  options.output_vocabulary = vocabularies.output->size();
  return options;
}

}  // namespace edgewise
