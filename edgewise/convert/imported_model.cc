// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/imported_model.h"

#include "edgewise/base/config/config.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files/directory.h"
#include "edgewise/base/files/files.h"
#include "edgewise/convert/causal_config.h"
#include "edgewise/convert/marian_config.h"
#include "edgewise/search/options.h"
#include "edgewise/text/vocabulary/sentence_frame.h"
#include "edgewise/translate/model_files.h"
#include "edgewise/translate/text_codec.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

ImportedModel import_any(const fs::path& path, std::string_view caller) {
  check(path_exists(path, caller) && fs::is_directory(path), "{}: {} is no directory, needs the directory of a model",
        caller, path.string());
  if (has_entry(path / "model.bin", caller)) return import_ctranslate2(path, caller);
  if (has_entry(path / "decoder.yml", caller)) return import_marian(path, caller);
  if (has_entry(path / "config.json", caller)) {
    const bool is_causal = is_causal_model(JsonSettings::read(path / "config.json", caller));
    return is_causal ? import_causal(path, caller) : import_hugging_face(path, caller);
  }
  if (is_marian_student(path, caller)) return import_marian(path, caller);
  fail(
      "{}: {} has no model, needs config.json (Hugging Face's transformers), decoder.yml (Marian), model.bin "
      "(CTranslate2), or config*.yml or model.*.bin (Firefox and Bergamot)",
      caller, path.string());
}

/// Throws Error for a model that every translation would refuse.
void check_can_translate(const ImportedModel& model, const std::string& where) {
  const Vocabularies& vocabularies = model.vocabularies;
  const SentenceRules& rules = vocabularies.output->rules();
  SearchOptions search = model.experiment.search;
  search.begin_token = rules.special.begin;
  search.end_token = rules.special.end;
  search.never = rules.forbidden;
  const TextCodec codec = text_codec(model.experiment, vocabularies);
  try {
    check_sentence_options(*vocabularies.input, *vocabularies.output, codec.end_input, codec.languages, "translate");
    check_options(search, vocabularies.output->size());
  } catch (const Error& error) {
    fail("{}: the model cannot translate: {}", where, error.what());
  }
}

}  // namespace

std::string describe_missing_options(const ImportedModel& model) {
  if (!has_encoder(model.experiment.model.kind)) return "";
  const TextCodec codec = text_codec(model.experiment, model.vocabularies);
  const SentenceRules& rules = model.vocabularies.input->rules();
  if (rules.language_place == LanguagePlace::kOutputBeforeInput && codec.languages.output.empty()) {
    return fmt::format(
        "the output language is not given, needs one of the model's {} languages, such as {}; set --to, or begin each "
        "input with its token",
        rules.languages.size(), rules.languages.front().name);
  }
  try {
    codec.encode({.input = ""});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

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
  if (has_encoder(model.experiment.model.kind)) check_can_translate(model, where);
  const SafetensorsFile parameters =
      SafetensorsFile::parse(serialize_safetensors(model.parameters.tensors), source, caller);
  check_finite(parameters, source, caller);
  DirectoryWriter writer(destination, caller);
  for (const auto& [name, bytes] : serialize_vocabularies(model.vocabularies, model.experiment.vocabulary.shared)) {
    writer.write(name, bytes);
  }
  writer.write(kConfigFile, to_toml(model.experiment));
  writer.write(kParametersFile, parameters.bytes());
  if (model.shortlist != nullptr) writer.write(kShortlistFile, serialize_shortlist(model.shortlist->table()));
  writer.commit();
}

}  // namespace edgewise
