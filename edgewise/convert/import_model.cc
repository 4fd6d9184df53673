// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "edgewise/base/config.h"
#include "edgewise/base/directory.h"
#include "edgewise/base/error.h"
#include "edgewise/convert/importers.h"
#include "edgewise/translate/model_files.h"

namespace edgewise {

namespace fs = std::filesystem;

ImportedModel import_model(const fs::path& path, std::string_view caller) {
  check(fs::is_directory(path), "{}: {} is no directory, needs the directory of a model", caller, path.string());
  if (fs::exists(path / "model.bin")) return import_ctranslate2(path, caller);
  if (fs::exists(path / "decoder.yml")) return import_marian(path, caller);
  if (fs::exists(path / "config.json")) return import_hugging_face(path, caller);
  fail(
      "{}: {} has no model, needs config.json (Hugging Face's transformers), decoder.yml (Marian) or model.bin "
      "(CTranslate2)",
      caller, path.string());
}

std::int64_t longest_input(std::int64_t positions, const Vocabulary& vocabulary) {
  return positions - (vocabulary.rules().language_place == LanguagePlace::kNone ? 1 : 2);
}

void write_model(const ImportedModel& model, const fs::path& destination, std::string_view caller) {
  check_options(model.experiment.model);
  const SafetensorsFile parameters =
      SafetensorsFile::parse(serialize_safetensors(model.parameters.tensors), "the imported model");
  check_finite(parameters, "the imported model", caller);
  DirectoryWriter writer(destination, caller);
  for (const auto& [name, bytes] : vocabulary_files(model.vocabularies, model.experiment.vocabulary.shared)) {
    writer.write(name, bytes);
  }
  writer.write(kConfigFile, to_toml(model.experiment));
  writer.write(kParametersFile, serialize_safetensors(model.parameters.tensors));
  writer.commit();
}

}  // namespace edgewise
