// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/model_files.h"

#include <memory>
#include <utility>

#include "edgewise/base/directory.h"
#include "edgewise/base/error.h"
#include "edgewise/runtime/runtime_model.h"

namespace edgewise {
namespace {

bool is_equal(const Vocabulary& a, const Vocabulary& b) {
  return a.serialize() == b.serialize() && a.serialize_case() == b.serialize_case();
}

}  // namespace

std::filesystem::path find_model(const std::filesystem::path& path, std::string_view caller) {
  check(std::filesystem::exists(path), "{}: {} does not exist, a run or model directory is needed", caller,
        path.string());
  for (const std::filesystem::path& directory : {path, path / "best", path / "last"}) {
    if (std::filesystem::exists(directory / kManifestFile)) return directory;
  }
  fail("{}: {} holds no model, a directory with {} (or with best/ or last/ that have one) is needed", caller,
       path.string(), kManifestFile);
}

ModelFiles read_model_files(const std::filesystem::path& path, std::string_view caller) {
  const std::filesystem::path directory = find_model(path, caller);
  verify_manifest(directory, caller);
  Experiment experiment = read_experiment(directory / kConfigFile);
  const Vocabularies vocabularies = read_vocabularies(directory, experiment.vocabulary.shared, caller);
  experiment.model = transformer_options(experiment, vocabularies);
  const std::filesystem::path parameters = directory / kParametersFile;
  return {experiment, text_codec(experiment, vocabularies), SafetensorsFile::open(parameters), parameters.string()};
}

std::vector<ModelFiles> read_models(const std::vector<std::string>& paths, std::string_view caller) {
  check(!paths.empty(), "{}: models is empty, needs at least one", caller);
  std::vector<ModelFiles> models;
  for (const std::string& path : paths) {
    models.push_back(read_model_files(path, caller));
    const Vocabularies& first = models.front().codec.vocabularies;
    const Vocabularies& other = models.back().codec.vocabularies;
    check(is_equal(*other.input, *first.input) && is_equal(*other.output, *first.output),
          "{}: {} has another vocabulary than {}, needs the same", caller, path, paths.front());
  }
  return models;
}

TransformerOptions transformer_options(const Experiment& experiment, const Vocabularies& vocabularies) {
  TransformerOptions options = experiment.model;
  options.input_vocabulary = vocabularies.input->size();
  options.output_vocabulary = vocabularies.output->size();
  return options;
}

TextCodec text_codec(const Experiment& experiment, const Vocabularies& vocabularies) {
  return {vocabularies, experiment.data.end_input, experiment.data.max_length};
}

ScorerFactory make_runtime_scorer_factory(ModelFiles files, RuntimePrecision precision,
                                          const CrossHeads& recorded_heads) {
  const auto model =
      std::make_shared<const RuntimeModel>(files.experiment.model, files.parameters, files.parameters_name, precision);
  return [model, recorded_heads] { return model->make_scorer(recorded_heads); };
}

}  // namespace edgewise
