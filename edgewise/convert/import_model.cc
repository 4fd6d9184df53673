// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "edgewise/base/config.h"
#include "edgewise/base/directory.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files.h"
#include "edgewise/convert/importers.h"
#include "edgewise/translate/model_files.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

ImportedModel import_any(const fs::path& path, std::string_view caller) {
  check(path_exists(path, caller) && fs::is_directory(path), "{}: {} is no directory, needs the directory of a model",
        caller, path.string());
  if (has_entry(path / "model.bin", caller)) return import_ctranslate2(path, caller);
  if (has_entry(path / "decoder.yml", caller)) return import_marian(path, caller);
  if (has_entry(path / "config.json", caller)) return import_hugging_face(path, caller);
  fail(
      "{}: {} has no model, needs config.json (Hugging Face's transformers), decoder.yml (Marian) or model.bin "
      "(CTranslate2)",
      caller, path.string());
}

}  // namespace

ImportedModel import_model(const fs::path& path, std::string_view caller) {
  ImportedModel model = import_any(path, caller);
  model.source = path;
  return model;
}

std::int64_t longest_input(std::int64_t positions, const Vocabulary& vocabulary) {
  return positions - (vocabulary.rules().language_place == LanguagePlace::kNone ? 1 : 2);
}

void write_model(const ImportedModel& model, const fs::path& destination, std::string_view caller) {
  const std::string source = model.source.string();
  const std::string where = fmt::format("{}: {}", caller, source);
  check_ranges(model.experiment, where);
  check_options(model.experiment.model, where);
  const SafetensorsFile parameters =
      SafetensorsFile::parse(serialize_safetensors(model.parameters.tensors), source, caller);
  check_finite(parameters, source, caller);
  DirectoryWriter writer(destination, caller);
  for (const auto& [name, bytes] : vocabulary_files(model.vocabularies, model.experiment.vocabulary.shared)) {
    writer.write(name, bytes);
  }
  writer.write(kConfigFile, to_toml(model.experiment));
  writer.write(kParametersFile, parameters.bytes());
  writer.commit();
}

}  // namespace edgewise
