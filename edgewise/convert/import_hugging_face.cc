// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/json_settings.h"
#include "edgewise/base/sorting.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/hugging_face_config.h"
#include "edgewise/convert/hugging_face_tensors.h"
#include "edgewise/convert/hugging_face_vocabulary.h"
#include "edgewise/convert/imported_model.h"
#include "edgewise/convert/position_tables.h"
#include "edgewise/convert/system_layouts.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

/// Chooses the tensors of the embeddings. Files may have copies of a tied table under further names; a copy that
/// differs from the table is a table of its own, as in transformers 5.
HuggingFaceEmbeddingNames choose_embeddings(const HuggingFaceConfig& config, TensorLookup& tensors) {
  const auto choose = [&](bool is_tied, const std::string& copy, const std::string& table) {
    if (!is_tied) return copy;
    const TensorInfo* copied = tensors.find(copy);
    const TensorInfo* original = tensors.find(table);
    const bool differs = copied != nullptr && (original == nullptr || !are_equal(*copied, *original));
    return differs ? copy : table;
  };
  HuggingFaceEmbeddingNames names;  // names of the shared table
  names.input = choose(config.has_shared_embedding, "model.encoder.embed_tokens.weight", names.input);
  names.output = choose(config.has_shared_embedding, "model.decoder.embed_tokens.weight", names.output);
  names.projection = choose(config.has_tied_projection, "lm_head.weight", names.output);
  return names;
}

Tying tying_of(const HuggingFaceEmbeddingNames& names) {
  if (names.projection != names.output) return Tying::kNone;
  return names.output == names.input ? Tying::kAll : Tying::kOutput;
}

/// Uses the tables of positions that a file has, unless they are those of the formula.
void choose_positions(TensorLookup& tensors, std::int64_t positions, TransformerOptions& model) {
  bool is_learned = false;
  for (const char* side : {"encoder", "decoder"}) {
    const TensorInfo* table = tensors.find(fmt::format("model.{}.embed_positions.weight", side));
    if (table != nullptr && !is_position_table(*table, model.size, model.positions)) is_learned = true;
  }
  if (!is_learned) return;
  model.positions = PositionKind::kLearned;
  model.max_positions = positions;
}

std::string describe(const HuggingFaceConfig& config) {
  return fmt::format("a {} model of Hugging Face's transformers",
                     config.family == HuggingFaceFamily::kMarian ? "MarianMT" : "M2M-100");
}

void set_data_options(const HuggingFaceConfig& config, const HuggingFaceVocabulary& vocabulary, DataOptions& data) {
  const std::int64_t positions = std::min(vocabulary.longest.value_or(config.positions), config.positions);
  data.max_length = longest_input(positions, *vocabulary.vocabularies.input);
  data.end_input = true;
  data.input_language = vocabulary.input_language;
  data.output_language = vocabulary.output_language;
}

}  // namespace

ImportedModel import_hugging_face(const fs::path& directory, std::string_view caller) {
  HuggingFaceConfig config = read_hugging_face_config(directory, caller);
  const HuggingFaceVocabulary vocabulary = read_hugging_face_vocabulary(directory, config, caller);
  StoredTensors stored = read_hugging_face_tensors(directory, caller);
  TensorLookup tensors(stored.tensors, fmt::format("{}: {}", caller, directory.string()));
  const HuggingFaceEmbeddingNames embeddings = choose_embeddings(config, tensors);
  config.model.tying = tying_of(embeddings);
  choose_positions(tensors, config.positions, config.model);

  ImportedModel model;
  model.origin = describe(config);
  model.vocabularies = vocabulary.vocabularies;
  model.experiment.model = config.model;
  model.experiment.search = config.search;
  model.experiment.vocabulary.kind = VocabularyKind::kMapped;
  model.experiment.vocabulary.shared = vocabulary.is_shared;
  set_data_options(config, vocabulary, model.experiment.data);
  const bool has_bias = tensors.find("final_logits_bias") != nullptr;
  model.parameters = import_parameters(list_parameters(config.model),
                                       hugging_face_layout(config.model, embeddings, has_bias), tensors);
  if (!has_bias) add_zeros("generator.bias", {config.model.output_vocabulary}, model.parameters);
  tensors.expect_all_used();
  std::ranges::move(stored.memory, std::back_inserter(model.parameters.memory));
  return model;
}

}  // namespace edgewise
