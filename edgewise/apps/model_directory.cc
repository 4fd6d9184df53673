// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/model_directory.h"

#include <span>
#include <utility>

#include "edgewise/base/config.h"
#include "edgewise/base/error.h"
#include "edgewise/infer/runtime_model.h"
#include "edgewise/infer/runtime_scorers.h"
#include "edgewise/nn/serialize.h"

namespace edgewise {

std::shared_ptr<const SequenceModel> make_model(const Experiment& experiment, const Vocabularies& vocabularies) {
  return make_model(transformer_options(experiment, vocabularies), experiment.train.seed);
}

std::string_view model_name(ModelKind kind) {
  return kind == ModelKind::kUniversal ? "Universal Transformer" : "Transformer";
}

Translator::MakeScorer scorers_of(const TranslationModel& model, const CrossHeads& attention) {
  const SequenceModel& parameters = *model.model;
  if (parameters.options().kind == ModelKind::kUniversal) {
    return [kept = model.model, attention] { return kept->scorer(attention); };
  }
  constexpr const char* kName = "the model";
  const std::string bytes = serialize_tensors(parameters.parameters());
  const auto runtime = std::make_shared<const RuntimeModel>(
      parameters.options(), SafetensorsFile::parse(std::as_bytes(std::span(bytes)), kName), kName,
      RuntimePrecision::kFp32);
  return [runtime, attention] { return runtime->scorer(attention); };
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

Translator::MakeScorer open_scorers(ModelFiles files, const ScorerOptions& options) {
  if (files.experiment.model.kind == ModelKind::kTransformer) return open_runtime_scorers(std::move(files), options);
  check(options.precision == RuntimePrecision::kFp32, "translate: precision is {}, a universal model needs fp32",
        enum_name(options.precision));
  return scorers_of(load_model(std::move(files)), options.attention);
}

TranslationModel open_model(const std::filesystem::path& path) {
  return load_model(read_model_files(path, "open_model"));
}

}  // namespace edgewise
