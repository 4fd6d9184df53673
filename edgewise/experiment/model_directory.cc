// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/model_directory.h"

#include <span>
#include <utility>

#include "edgewise/base/config.h"
#include "edgewise/runtime/runtime_model.h"
#include "edgewise/nn/serialize.h"

namespace edgewise {

std::shared_ptr<const SequenceModel> make_model(const Experiment& experiment, const Vocabularies& vocabularies) {
  return make_model(transformer_options(experiment, vocabularies), experiment.train.seed);
}

std::string_view model_name(ModelKind kind) {
  return kind == ModelKind::kUniversal ? "Universal Transformer" : "Transformer";
}

Translator::MakeScorer scorers_of(const SequenceModel& model) {
  constexpr const char* kName = "the model";
  const std::string bytes = serialize_tensors(model.parameters());
  const auto runtime = std::make_shared<const RuntimeModel>(
      model.options(), SafetensorsFile::parse(std::as_bytes(std::span(bytes)), kName), kName, RuntimePrecision::kFp32);
  return [runtime] { return runtime->scorer(); };
}

std::map<std::string, std::string> model_files(const Experiment& experiment, const Vocabularies& vocabularies) {
  std::map<std::string, std::string> files = vocabulary_files(vocabularies, experiment.vocabulary.shared);
  files[std::string(kConfigFile)] = to_toml(experiment, TomlComments::kHelp);
  return files;
}

TranslationModel load_model(ModelFiles files) {
  std::shared_ptr<const SequenceModel> model = make_model(files.experiment, files.vocabularies);
  load_tensors(model->parameters(), files.parameters, files.parameters_name);
  return {std::move(files.experiment), std::move(files.vocabularies), std::move(model)};
}

TranslationModel open_model(const std::filesystem::path& path) {
  return load_model(read_model_files(path, "open_model"));
}

}  // namespace edgewise
