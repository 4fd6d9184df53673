// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/model_directory.h"

#include <span>
#include <utility>

#include "edgewise/base/config.h"
#include "edgewise/nn/serialize.h"

namespace edgewise {

Transformer make_transformer(const Experiment& experiment, const Vocabularies& vocabularies) {
  return Transformer(transformer_options(experiment, vocabularies), experiment.train.seed);
}

RuntimeModel packed(const Transformer& transformer, RuntimePrecision precision) {
  constexpr const char* kName = "the model";
  const std::string bytes = serialize_tensors(parameters(transformer));
  return RuntimeModel(transformer.options(), SafetensorsFile::parse(std::as_bytes(std::span(bytes)), kName), kName,
                      precision);
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

TranslationModel load_model(ModelFiles files) {
  Transformer transformer = make_transformer(files.experiment, files.vocabularies);
  load_tensors(parameters(transformer), files.parameters, files.parameters_name);
  return {std::move(files.experiment), std::move(files.vocabularies), std::move(transformer)};
}

TranslationModel open_model(const std::filesystem::path& path) {
  return load_model(read_model_files(path, "open_model"));
}

}  // namespace edgewise
