// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/files/json.h"
#include "edgewise/convert/export_checks.h"
#include "edgewise/convert/exported_content.h"
#include "edgewise/convert/exported_model.h"
#include "edgewise/convert/hugging_face_tokenizer.h"
#include "edgewise/convert/position_tables.h"
#include "edgewise/convert/system_layouts.h"
#include "edgewise/convert/system_search.h"
#include "edgewise/translate/model_files.h"

namespace edgewise {
namespace {

/// Numbers that depend on the files of a model together.
struct HuggingFaceLengths {
  std::int64_t input = 0;      // most tokens of an input, with those around it; 0: no limit
  std::int64_t output = 0;     // most tokens of an output, with the begin and the end token
  std::int64_t positions = 0;  // on each side
};

const SentenceRules& output_rules(const ModelFiles& model) { return model.codec.vocabularies.output->rules(); }

/// Returns the most tokens around a sentence: the end token and a language.
std::int64_t most_around(const ModelFiles& model) {
  return model.codec.vocabularies.input->rules().language_place == LanguagePlace::kNone ? 1 : 2;
}

/// Returns max_length of generate() for the longest input.
std::int64_t longest_output(const ModelFiles& model) {
  constexpr std::int64_t kAround = 2;  // the begin and the end token
  const SearchOptions& search = model.experiment.search;
  if (follows_hugging_face(search)) return search.max_length;
  const std::int64_t longest_input =
      model.codec.max_input > 0 ? model.codec.max_input : model.experiment.model.max_positions;
  const double factor = search.length_factor * static_cast<double>(longest_input);
  const std::int64_t by_factor = static_cast<std::int64_t>(std::ceil(factor)) + search.length_offset;
  return (search.max_length > 0 ? std::min(search.max_length, by_factor) : by_factor) + kAround;
}

std::string_view activation_name(Activation activation) {
  return activation == Activation::kSilu ? "swish" : enum_name(activation);
}

/// Adds the options of both sides.
void add_sides(const TransformerOptions& options, JsonObject& json) {
  for (const std::string side : {"encoder", "decoder"}) {
    json.add(side + "_layers", side == "encoder" ? options.encoder_layers : options.decoder_layers);
    json.add(side + "_attention_heads", options.heads).add(side + "_ffn_dim", options.feed_forward);
    json.add(side + "_layerdrop", 0.0);
  }
}

void add_special_tokens(const SpecialTokens& special, JsonObject& json) {
  json.add("pad_token_id", special.padding)
      .add("bos_token_id", special.begin)
      .add("eos_token_id", special.end)
      .add("decoder_start_token_id", special.begin);
}

/// Returns the value of early_stopping. The search of Edgewise ends as soon as its beam is full.
std::string_view early_stopping(const SearchOptions& search) {
  if (!follows_hugging_face(search) || search.stop_when == StopWhen::kFull) return "true";
  return search.stop_when == StopWhen::kLikely ? "false" : "\"never\"";
}

std::int64_t shortest_output(const SearchOptions& search) {
  const bool counts_begin = !follows_hugging_face(search) && search.min_length > 0;
  return search.min_length + (counts_begin ? 1 : 0);
}

/// Returns the lengths for the longest input and output. A formula has as many positions as are needed.
HuggingFaceLengths hugging_face_lengths(const ModelFiles& model) {
  const TransformerOptions& options = model.experiment.model;
  HuggingFaceLengths lengths = {.output = longest_output(model), .positions = options.max_positions};
  if (model.codec.max_input > 0) lengths.input = model.codec.max_input + most_around(model);
  // The decoder has a position for the begin token, but none for the last token of an output.
  if (options.positions == PositionKind::kLearned) {
    lengths.output = std::min(lengths.output, lengths.positions + 1);
  } else {
    lengths.positions = std::max({lengths.positions, lengths.input, lengths.output - 1});
  }
  return lengths;
}

/// Returns the text of config.json.
std::string write_hugging_face_config(const ModelFiles& model, HuggingFaceFamily family,
                                      const HuggingFaceLengths& lengths) {
  const TransformerOptions& options = model.experiment.model;
  const bool is_marian = family == HuggingFaceFamily::kMarian;
  JsonObject json;
  json.add_json("architectures", is_marian ? R"(["MarianMTModel"])" : R"(["M2M100ForConditionalGeneration"])")
      .add("model_type", is_marian ? "marian" : "m2m_100")
      .add("is_encoder_decoder", true)
      .add("dtype", "float32")
      .add("d_model", options.size)
      .add("num_hidden_layers", options.encoder_layers)
      .add("vocab_size", options.input_vocabulary);
  if (is_marian) {
    json.add("decoder_vocab_size", options.output_vocabulary)
        .add("share_encoder_decoder_embeddings", options.tying == Tying::kAll)
        .add("static_position_embeddings", true)
        .add("normalize_before", false)
        .add("add_final_layer_norm", false);
  }
  add_sides(options, json);
  add_special_tokens(output_rules(model).special, json);
  json.add("tie_word_embeddings", options.tying != Tying::kNone)
      .add("activation_function", activation_name(options.activation))
      .add("scale_embedding", options.scale_embedding)
      .add("max_position_embeddings", lengths.positions)
      .add("dropout", options.dropout.residual)
      .add("attention_dropout", options.dropout.attention)
      .add("activation_dropout", options.dropout.activation)
      .add("use_cache", true);
  return json.text() + "\n";
}

/// Returns the text of generation_config.json.
std::string write_generation_config(const ModelFiles& model, const HuggingFaceLengths& lengths) {
  const SearchOptions& search = model.experiment.search;
  const SentenceRules& rules = output_rules(model);
  JsonObject json;
  add_special_tokens(rules.special, json);
  if (search.force_end) json.add("forced_eos_token_id", rules.special.end);
  const auto language = std::ranges::find(rules.languages, model.experiment.data.output_language, &Language::name);
  const bool is_forced = rules.language_place != LanguagePlace::kOutputBeforeInput;
  if (is_forced && language != rules.languages.end()) json.add("forced_bos_token_id", language->token);
  if (!rules.forbidden.empty()) {
    json.add_json("bad_words_ids", json_array(rules.forbidden, [](auto token) { return fmt::format("[{}]", token); }));
  }
  json.add("num_beams", search.beam)
      .add("num_return_sequences", std::min(search.n_best, search.beam))
      .add("max_length", lengths.output)
      .add("min_length", shortest_output(search))
      .add("length_penalty", exported_length_penalty(search))
      .add_json("early_stopping", early_stopping(search))
      .add("no_repeat_ngram_size", search.no_repeat_ngram)
      .add("repetition_penalty", search.repetition_penalty)
      .add("renormalize_logits", follows_hugging_face(search) && search.renormalize);
  return json.text() + "\n";
}

HuggingFaceFamily family_of(const TransformerOptions& options, std::string_view caller) {
  const bool is_post = options.norm_placement == NormPlacement::kPost;
  if (is_post && !options.final_norm) return HuggingFaceFamily::kMarian;
  if (!is_post && options.final_norm) return HuggingFaceFamily::kM2m100;
  refuse_option(caller, "model.norm_placement",
                fmt::format("{} with final_norm {}", enum_name(options.norm_placement), options.final_norm),
                "post with final_norm false (MarianMT), or pre with final_norm true (M2M-100)");
}

/// Throws Error for options that MarianMT and M2M-100 do not have.
void check_hugging_face_options(const Experiment& experiment, std::string_view caller) {
  constexpr double kEpsilon = 1e-5;  // norms of MarianMT and M2M-100 have no other
  check_exportable(experiment.model, caller);
  if (experiment.model.norm_epsilon != kEpsilon) {
    refuse_option(caller, "model.norm_epsilon", json_number(experiment.model.norm_epsilon), json_number(kEpsilon));
  }
  check_case_is_kept(experiment.vocabulary, caller);
}

void check_m2m100(const TransformerOptions& options, std::string_view caller) {
  if (options.positions != PositionKind::kFairseq) {
    refuse_option(caller, "model.positions", enum_name(options.positions),
                  "fairseq for a pre-norm model, which becomes M2M-100; a post-norm model may have any positions");
  }
  if (options.tying != Tying::kAll) refuse_option(caller, "model.tying", enum_name(options.tying), "all for M2M-100");
}

void check_output_bias(const StoredTensors& parameters, std::string_view caller) {
  const auto bias = std::ranges::find(parameters.tensors, "generator.bias", &TensorInfo::name);
  check(std::ranges::all_of(to_floats(*bias, caller), [](float value) { return value == 0; }),
        "{}: generator.bias has elements other than 0, needs 0, as M2M-100 has none", caller);
}

HuggingFaceEmbeddingNames embedding_names(Tying tying) {
  if (tying == Tying::kAll) return {};
  HuggingFaceEmbeddingNames names = {.input = "model.encoder.embed_tokens.weight",
                                     .output = "model.decoder.embed_tokens.weight",
                                     .projection = "lm_head.weight"};
  if (tying == Tying::kOutput) names.projection = names.output;
  return names;
}

/// Adds the tables of positions that MarianMT does not compute.
void add_positions(TransformerOptions& options, std::int64_t rows, StoredTensors& parameters) {
  if (options.positions == PositionKind::kHalves || options.positions == PositionKind::kLearned) return;
  parameters.add("input_positions.weight", {rows, options.size}, position_table(options.size, options.positions, rows));
  parameters.tensors.push_back(parameters.tensors.back());
  parameters.tensors.back().name = "output_positions.weight";
  options.positions = PositionKind::kLearned;
  options.max_positions = rows;
}

std::string write_parameters(const ModelFiles& model, HuggingFaceFamily family, std::int64_t positions,
                             std::string_view caller) {
  TransformerOptions options = model.experiment.model;
  StoredTensors parameters = exported_parameters(model, ExportedTypes::kStored, caller);
  const bool is_marian = family == HuggingFaceFamily::kMarian;
  if (is_marian) {
    add_positions(options, positions, parameters);
  } else {
    check_output_bias(parameters, caller);
  }
  const std::vector<TensorLayout> layout = hugging_face_layout(options, embedding_names(options.tying), is_marian);
  const StoredTensors exported = export_parameters(parameters.tensors, layout);
  return serialize_safetensors(exported.tensors, {{"format", "pt"}});
}

}  // namespace

std::map<std::string, std::string> export_hugging_face(const ModelFiles& model, std::string_view caller) {
  check_hugging_face_options(model.experiment, caller);
  const HuggingFaceFamily family = family_of(model.experiment.model, caller);
  if (family == HuggingFaceFamily::kM2m100) check_m2m100(model.experiment.model, caller);
  const HuggingFaceLengths lengths = hugging_face_lengths(model);
  std::map<std::string, std::string> files = write_tokenizer(model, family, lengths.input, caller);
  files["config.json"] = write_hugging_face_config(model, family, lengths);
  files["generation_config.json"] = write_generation_config(model, lengths);
  files["model.safetensors"] = write_parameters(model, family, lengths.positions, caller);
  return files;
}

}  // namespace edgewise
