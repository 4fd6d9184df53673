// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/translate/translation_engine.h"
#include "edgewise/translate/translation_service.h"

namespace edgewise {

/// The languages of one side of a model: from codes (languages.h) to the model's own names, which are empty in a
/// model that knows no names.
using ModelLanguages = std::map<std::string, std::string, std::less<>>;

/// A model as the command line names it: `en-de=DIR`, `en+fr-*=DIR`, or `DIR`, which is `*-*=DIR`. A language whose
/// code has a region or script is written with `_`: `pt_BR-en=DIR`. The name of a model (translate/model_paths.h) may
/// be a pair of languages: `en-de` is `en-de=en-de`, unless a file or directory has the path `en-de`.
struct ModelSpec {
  std::vector<std::string> sources = {};  // codes; empty: all languages that the model has on this side
  std::vector<std::string> targets = {};
  std::string path;  // a directory or the name of a model, as for Translator
};

/// Throws Error for text that does not have this form.
ModelSpec parse_model_spec(std::string_view text);

/// A model that translates requests, and its languages. Requests hold it, so that it lives until the last one ends.
struct ServedModel {
  std::string path;  // as in ModelSpec; names the model in reports and in /metrics
  ModelLanguages sources;
  ModelLanguages targets;
  std::int64_t max_outputs = 1;  // most outputs of a sentence
  std::unique_ptr<TranslationService> service;

  /// Returns the model's names of two languages; nothing if the model does not translate between them.
  std::optional<PairLanguages> languages_of(std::string_view source, std::string_view target) const;
};

/// Returns a text that changes with the model's files: the bytes of manifest.json, which has their hashes.
std::string model_revision(const ModelSpec& spec);

/// Loads a model. Its outputs have alignments, and a sentence has at most `max_outputs` outputs, or as many as the beam
/// has hypotheses. Throws Error as TranslationService does, and if the model lacks a language of `spec` or has no list
/// of languages and `spec` names none.
std::shared_ptr<ServedModel> load_served_model(const ModelSpec& spec, TranslatorOptions options,
                                               std::int64_t max_outputs);

/// Returns the languages of one side: those of `codes`, or all of `names` if there are none. Throws Error, which calls
/// the model `path`, for a code that `names` lacks, and if both are empty. Names that are no codes are left out.
ModelLanguages select_languages(const std::vector<std::string>& codes, const std::vector<std::string>& names,
                                const std::string& path);

/// Returns the models in a folder, in the order of their paths: each of its folders, unless the name begins with a dot.
/// A folder that is named by languages, such as en-de, has these languages, another one all languages that its model
/// has. Throws Error for a folder that cannot be read.
std::vector<ModelSpec> list_models(const std::string& folder);

}  // namespace edgewise
