// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "edgewise/convert/stored_tensor.h"
#include "edgewise/options/experiment.h"
#include "edgewise/search/shortlist.h"
#include "edgewise/translate/vocabulary_files.h"

namespace edgewise {

/// A model of another system in the terms of Edgewise.
struct ImportedModel {
  std::string origin;  // describes the files: "a MarianMT model of Hugging Face's transformers"
  Experiment experiment;
  Vocabularies vocabularies;
  StoredTensors parameters;
  std::shared_ptr<const Shortlist> shortlist = nullptr;  // null: the model has none
  std::filesystem::path source = {};                     // the directory with the files
};

/// Reads a model of another system, which it recognises by its files: a directory of Hugging Face's transformers
/// (MarianMT, M2M-100, NLLB-200, GPT-2, Llama, Mistral, Ministral, Qwen 2), of Marian (decoder.yml and an npz file, or
/// a student as Firefox and Bergamot have it) or of CTranslate2 (model.bin). Throws Error, beginning with `caller`, for
/// a part that a model directory of Edgewise cannot have exactly.
ImportedModel import_model(const std::filesystem::path& path, std::string_view caller);

/// Returns the options that each translation with the model needs, because the files do not have them: the languages of
/// a multilingual model. Empty if a sentence is enough, and for a language model.
std::string describe_missing_options(const ImportedModel& model);

/// Writes a model directory. Throws Error, beginning with `caller` and the name of the source and without writing
/// anything, if the model cannot be read back or cannot translate. Replaces a model that is there; a caller that shall
/// not calls check_output_directory (translate/model_paths.h) first.
void write_model(const ImportedModel& model, const std::filesystem::path& destination, std::string_view caller);

/// Returns the most tokens of a sentence such that it has at most `positions` with the tokens around it.
std::int64_t longest_input(std::int64_t positions, const Vocabulary& vocabulary);

// One importer for each kind of directory; import_model chooses. Errors begin with `caller`.
ImportedModel import_hugging_face(const std::filesystem::path& directory, std::string_view caller);
ImportedModel import_causal(const std::filesystem::path& directory, std::string_view caller);  // GPT-2, Llama
ImportedModel import_marian(const std::filesystem::path& directory, std::string_view caller);
ImportedModel import_ctranslate2(const std::filesystem::path& directory, std::string_view caller);

}  // namespace edgewise
