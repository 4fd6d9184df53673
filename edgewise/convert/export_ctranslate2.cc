// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "edgewise/base/files/json.h"
#include "edgewise/convert/ctranslate2_model.h"
#include "edgewise/convert/export_checks.h"
#include "edgewise/convert/exported_content.h"
#include "edgewise/convert/exported_model.h"
#include "edgewise/convert/position_tables.h"
#include "edgewise/convert/system_layouts.h"

namespace edgewise {
namespace {

using Files = std::map<std::string, std::string>;

std::int64_t activation_number(Activation activation) {
  if (activation == Activation::kGelu) return 3;
  return activation == Activation::kSilu ? 2 : 0;
}

/// Collects the variables of a model.
class ModelWriter {
 public:
  ModelWriter(const ModelFiles& model, std::string_view caller)
      : options_(model.experiment.model), parameters_(exported_parameters(model, ExportedTypes::kF32, caller)) {}

  std::string run() {
    constexpr std::int64_t kPositions = 1024;
    StoredTensors tensors = export_parameters(parameters_.tensors, ctranslate2_layout(options_));
    std::ranges::move(tensors.tensors, std::back_inserter(variables_.tensors));
    add_settings("encoder");
    add_settings("decoder");
    put_number<std::int8_t>("encoder/embeddings_merge", DType::kI8, 0);
    put_number<std::int16_t>("decoder/alignment_layer", DType::kI16, -1);
    put_number<std::int16_t>("decoder/alignment_heads", DType::kI16, 1);
    put_number<std::int8_t>("decoder/start_from_zero_embedding", DType::kI8, 0);
    if (has_formula(options_.positions)) {
      // The table of both sides: that of the encoder is an alias.
      variables_.add(kOutputEncodings, {kPositions, options_.size},
                     position_table(options_.size, options_.positions, kPositions));
    }
    constexpr std::uint32_t kRevision = 7;
    std::ranges::sort(variables_.tensors, {}, &TensorInfo::name);
    return serialize_ctranslate2("TransformerSpec", kRevision, variables_.tensors, aliases());
  }

 private:
  template <class Number>
  void put_number(std::string name, DType dtype, std::int64_t value) {
    const auto number = static_cast<Number>(value);
    const std::string_view bytes = variables_.keep(std::string(reinterpret_cast<const char*>(&number), sizeof(number)));
    variables_.tensors.push_back({std::move(name), dtype, {}, std::as_bytes(std::span(bytes))});
  }

  void add_settings(const std::string& side) {
    put_number<std::int32_t>(side + "/num_heads", DType::kI32, options_.heads);
    const bool is_pre = options_.norm_placement == NormPlacement::kPre;
    put_number<std::int8_t>(side + "/pre_norm", DType::kI8, is_pre ? 1 : 0);
    put_number<std::int8_t>(side + "/activation", DType::kI8, activation_number(options_.activation));
    put_number<std::int8_t>(side + "/scale_embeddings", DType::kI8, options_.scale_embedding ? 1 : 0);
  }

  std::vector<Ctranslate2Alias> aliases() const {
    std::vector<Ctranslate2Alias> aliases;
    const std::string output = "decoder/embeddings/weight";
    const std::string table = options_.tying == Tying::kAll ? "encoder/embeddings_0/weight" : output;
    if (options_.tying == Tying::kAll) aliases.push_back({output, table});
    if (options_.tying != Tying::kNone) aliases.push_back({"decoder/projection/weight", table});
    if (has_formula(options_.positions)) aliases.push_back({kInputEncodings, kOutputEncodings});
    return aliases;
  }

  const TransformerOptions& options_;
  StoredTensors parameters_;
  StoredTensors variables_;
};

std::string config_json(const ModelFiles& model) {
  const Vocabulary& output = *model.codec.vocabularies.output;
  const SpecialTokens& special = output.special();
  return JsonObject()
             .add("add_source_bos", false)
             .add("add_source_eos", model.experiment.data.end_input)
             .add("bos_token", output.token_text(special.begin))
             .add("decoder_start_token", output.token_text(special.begin))
             .add("eos_token", output.token_text(special.end))
             .add("layer_norm_epsilon", model.experiment.model.norm_epsilon)
             .add("unk_token", output.token_text(special.unknown))
             .text() +
         "\n";
}

std::string token_list(const Vocabulary& vocabulary) {
  return json_array(all_tokens(vocabulary), [](const std::string& token) { return quote_json(token); }) + "\n";
}

void add_vocabularies(const ModelFiles& model, Files& files) {
  const Vocabularies& vocabularies = model.codec.vocabularies;
  if (model.experiment.vocabulary.shared) {
    files["shared_vocabulary.json"] = token_list(*vocabularies.output);
  } else {
    files["source_vocabulary.json"] = token_list(*vocabularies.input);
    files["target_vocabulary.json"] = token_list(*vocabularies.output);
  }
}

/// Adds the SentencePiece models, unless a text gets another case before they split it.
void add_pieces(const Vocabularies& vocabularies, Files& files) {
  const auto keeps_case = [](const Vocabulary& vocabulary) { return vocabulary.case_kind() == CaseKind::kKeep; };
  if (!keeps_case(*vocabularies.input) || !keeps_case(*vocabularies.output)) return;
  std::string input = piece_model(*vocabularies.input);
  std::string output = piece_model(*vocabularies.output);
  if (input.empty() && output.empty()) return;
  if (input == output) {
    files["sentencepiece.model"] = std::move(input);
    return;
  }
  if (!input.empty()) files["source.spm"] = std::move(input);
  if (!output.empty()) files["target.spm"] = std::move(output);
}

}  // namespace

Files export_ctranslate2(const ModelFiles& model, std::string_view caller) {
  check_exportable(model.experiment.model, caller);
  Files files;
  files["model.bin"] = ModelWriter(model, caller).run();
  files["config.json"] = config_json(model);
  add_vocabularies(model, files);
  add_pieces(model.codec.vocabularies, files);
  return files;
}

}  // namespace edgewise
