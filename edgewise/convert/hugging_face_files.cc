// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/hugging_face_files.h"

#include <algorithm>
#include <cmath>

#include "edgewise/base/files/json.h"
#include "edgewise/convert/exported_search.h"

namespace edgewise {
namespace {

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

}  // namespace

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

}  // namespace edgewise
