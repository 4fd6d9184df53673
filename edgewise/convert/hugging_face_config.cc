// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/hugging_face_config.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/json_settings.h"
#include "edgewise/base/sorting.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/neutral_settings.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kForcedEnd = "forced_eos_token_id";

/// Values of members that config.json may lack; those of the classes MarianConfig and M2M100Config.
struct FamilyDefaults {
  HuggingFaceFamily family;
  std::int64_t vocabulary;
  std::string_view activation;
  bool scales_embedding;
  double attention_dropout;
  std::int64_t padding;
  std::int64_t begin;
  std::int64_t end;
};

constexpr FamilyDefaults kMarianDefaults = {.family = HuggingFaceFamily::kMarian,
                                            .vocabulary = 58101,
                                            .activation = "gelu",
                                            .scales_embedding = false,
                                            .attention_dropout = 0.0,
                                            .padding = 58100,
                                            .begin = 58100,
                                            .end = 0};
constexpr FamilyDefaults kM2m100Defaults = {.family = HuggingFaceFamily::kM2m100,
                                            .vocabulary = 128112,
                                            .activation = "relu",
                                            .scales_embedding = true,
                                            .attention_dropout = 0.1,
                                            .padding = 1,
                                            .begin = 2,
                                            .end = 2};

const FamilyDefaults& defaults_of(const JsonSettings& config) {
  const std::optional<std::string> type = config.text("model_type");
  constexpr std::string_view kTypes = "marian, m2m_100, gpt2, llama, mistral, ministral or qwen2";
  if (!type) config.refuse("model_type", "missing", fmt::format("{}; a model of CTranslate2 needs model.bin", kTypes));
  if (*type == "marian") return kMarianDefaults;
  if (*type == "m2m_100") return kM2m100Defaults;
  config.refuse("model_type", quote(*type), kTypes);
}

Activation read_activation(const JsonSettings& config, std::string_view by_default) {
  const std::string name = config.text("activation_function").value_or(std::string(by_default));
  if (name == "relu") return Activation::kRelu;
  if (name == "gelu") return Activation::kGelu;
  if (name == "silu" || name == "swish") return Activation::kSilu;
  config.refuse("activation_function", quote(name), "relu, gelu, silu or swish");
}

/// Returns a number that encoder and decoder share.
std::int64_t read_common(const JsonSettings& config, const std::string& suffix, std::int64_t by_default) {
  const std::int64_t encoder = config.whole_number("encoder_" + suffix).value_or(by_default);
  const std::int64_t decoder = config.whole_number("decoder_" + suffix).value_or(by_default);
  if (encoder != decoder) {
    config.refuse("decoder_" + suffix, std::to_string(decoder),
                  fmt::format("{} as encoder_{}; layers of both sides have one size", encoder, suffix));
  }
  return encoder;
}

/// Throws Error if position vectors do not begin with number 2: M2M-100 begins after the number of the padding token.
void check_first_position(const JsonSettings& config) {
  constexpr std::int64_t kPadding = 1;
  const std::int64_t padding = config.whole_number("pad_token_id").value_or(kPadding);
  if (padding != kPadding) {
    config.refuse("pad_token_id", std::to_string(padding), fmt::format("{}, from which positions count", kPadding));
  }
}

/// Throws Error for members that say that the model has another architecture.
void refuse_other_models(const JsonSettings& config, HuggingFaceFamily family) {
  const bool is_marian = family == HuggingFaceFamily::kMarian;
  const std::string_view needed = is_marian ? "MarianMTModel" : "M2M100ForConditionalGeneration";
  if (const JsonValue* classes = config.find("architectures")) {
    const bool has_class = classes->kind == JsonKind::kArray &&
                           std::ranges::find(classes->items, needed, &JsonValue::text) != classes->items.end();
    if (!has_class) config.refuse("architectures", describe(*classes), needed);
  }
  config.require_boolean("is_encoder_decoder", true);
  for (const char* key :
       {"add_bias_logits", "add_cross_attention", "add_final_layer_norm", "force_bos_token_to_be_generated",
        "is_decoder", "normalize_before", "normalize_embedding", "tie_encoder_decoder"}) {
    config.require_boolean(key, false);
  }
  config.require_boolean("static_position_embeddings", true);
  for (const char* key : {"prefix", "pruned_heads", "quantization_config"}) config.require_absent(key);
  if (!is_marian) config.require_boolean("share_encoder_decoder_embeddings", true);
}

TransformerOptions read_model(const JsonSettings& config, const FamilyDefaults& defaults) {
  const bool is_marian = defaults.family == HuggingFaceFamily::kMarian;
  TransformerOptions model;
  model.size = config.whole_number("d_model").value_or(1024);
  model.heads = read_common(config, "attention_heads", 16);
  model.feed_forward = read_common(config, "ffn_dim", 4096);
  model.encoder_layers = config.whole_number("encoder_layers").value_or(12);
  model.decoder_layers = config.whole_number("decoder_layers").value_or(12);
  model.norm_placement = is_marian ? NormPlacement::kPost : NormPlacement::kPre;
  model.final_norm = !is_marian;
  model.activation = read_activation(config, defaults.activation);
  model.positions = is_marian ? PositionKind::kHalves : PositionKind::kFairseq;
  model.scale_embedding = config.boolean("scale_embedding").value_or(defaults.scales_embedding);
  model.dropout.embedding = model.dropout.residual = config.number("dropout").value_or(0.1);
  model.dropout.attention = config.number("attention_dropout").value_or(defaults.attention_dropout);
  model.dropout.activation = config.number("activation_dropout").value_or(0.0);
  model.input_vocabulary = config.whole_number("vocab_size").value_or(defaults.vocabulary);
  model.output_vocabulary = model.input_vocabulary;
  if (is_marian) {
    model.output_vocabulary = config.whole_number("decoder_vocab_size").value_or(model.input_vocabulary);
  }
  return model;
}

std::int64_t to_token(const JsonSettings& settings, const std::string& key, const JsonValue& value) {
  constexpr double kMost = 1e9;
  const bool is_token = value.kind == JsonKind::kNumber && value.number >= 0 && value.number <= kMost &&
                        std::floor(value.number) == value.number;
  if (!is_token) settings.refuse(key, describe(value), "the number of a token");
  return static_cast<std::int64_t>(value.number);
}

/// Returns a token that may be written as a list of one.
std::optional<std::int64_t> read_token(const JsonSettings& settings, const std::string& key) {
  const JsonValue* value = settings.find(key);
  if (value == nullptr) return std::nullopt;
  if (value->kind != JsonKind::kArray) return to_token(settings, key, *value);
  if (value->items.size() != 1) settings.refuse(key, describe(*value), "one token");
  return to_token(settings, key, value->items[0]);
}

/// Returns the tokens of a list whose elements are tokens or lists of one token.
std::vector<std::int64_t> read_tokens(const JsonSettings& settings, const std::string& key) {
  const JsonValue* list = settings.find(key);
  if (list == nullptr) return {};
  if (list->kind != JsonKind::kArray) settings.refuse(key, describe(*list), "a list of tokens");
  std::vector<std::int64_t> tokens;
  for (const JsonValue& item : list->items) {
    const bool is_sequence = item.kind == JsonKind::kArray;
    if (is_sequence && item.items.size() != 1) {
      settings.refuse(key, describe(item) + " among others", "single tokens, because Edgewise cannot forbid sequences");
    }
    tokens.push_back(to_token(settings, key, is_sequence ? item.items[0] : item));
  }
  return tokens;
}

/// Throws Error for settings of generate() that change translations and that Edgewise does not have.
void refuse_other_search(const JsonSettings& settings) {
  settings.require_boolean("do_sample", false);
  settings.require_boolean("remove_invalid_values", false);
  settings.require_number("num_beam_groups", 1);
  settings.require_number("diversity_penalty", 0);
  settings.require_number("encoder_no_repeat_ngram_size", 0);
  settings.require_number("encoder_repetition_penalty", 1);
  settings.require_number("min_new_tokens", 0);
  settings.require_boolean("token_healing", false);
  for (const char* key :
       {"begin_suppress_tokens", "forced_decoder_ids", "sequence_bias", "force_words_ids", "constraints",
        "exponential_decay_length_penalty", "stop_strings", "penalty_alpha", "guidance_scale", "watermarking_config",
        "prompt_lookup_num_tokens", "max_time", "dola_layers"}) {
    settings.require_absent(key);
  }
}

StopWhen read_stop(const JsonSettings& settings) {
  const std::string key = "early_stopping";
  const JsonValue* value = settings.find(key);
  if (value == nullptr) return StopWhen::kLikely;
  if (value->kind == JsonKind::kBoolean) return value->boolean ? StopWhen::kFull : StopWhen::kLikely;
  if (value->kind == JsonKind::kString && value->text == "never") return StopWhen::kCertain;
  settings.refuse(key, describe(*value), "true, false or \"never\"");
}

/// Returns max_length, which counts the begin token, of the form in which it is given.
std::int64_t read_max_length(const JsonSettings& settings) {
  constexpr std::int64_t kDefaultOfGenerate = 20;
  const std::int64_t all_tokens = settings.whole_number("max_length").value_or(kDefaultOfGenerate);
  const std::optional<std::int64_t> new_tokens = settings.whole_number("max_new_tokens");
  return new_tokens ? *new_tokens + 1 : all_tokens;
}

SearchOptions read_search(const JsonSettings& settings) {
  refuse_other_search(settings);
  SearchOptions search;
  search.rules = BeamRules::kHuggingFace;
  search.beam = settings.whole_number("num_beams").value_or(1);
  search.n_best = settings.whole_number("num_return_sequences").value_or(1);
  search.length_penalty = settings.number("length_penalty").value_or(1.0);
  search.max_length = read_max_length(settings);
  search.min_length = settings.whole_number("min_length").value_or(0);
  search.no_repeat_ngram = settings.whole_number("no_repeat_ngram_size").value_or(0);
  search.repetition_penalty = settings.number("repetition_penalty").value_or(1.0);
  search.stop_when = read_stop(settings);
  search.renormalize = settings.boolean("renormalize_logits").value_or(false);
  search.force_end = read_token(settings, kForcedEnd).has_value();
  return search;
}

void check_vocabulary_sizes(const JsonSettings& config, const TransformerOptions& model) {
  constexpr std::int64_t kMost = 1'000'000;
  for (const auto& [key, size] :
       {std::pair("vocab_size", model.input_vocabulary), std::pair("decoder_vocab_size", model.output_vocabulary)}) {
    if (size < 1 || size > kMost) config.refuse(key, std::to_string(size), fmt::format("1 to {}", kMost));
  }
}

/// Throws Error unless the tokens of a file are in the vocabulary of the outputs. `end` is the end token of a file that
/// names none.
void check_special_tokens(const JsonSettings& settings, std::int64_t vocabulary, std::int64_t end) {
  for (const char* key :
       {"pad_token_id", "bos_token_id", "decoder_start_token_id", "eos_token_id", kForcedEnd, "forced_bos_token_id"}) {
    const std::optional<std::int64_t> token = read_token(settings, key);
    if (token && *token >= vocabulary) {
      settings.refuse(key, std::to_string(*token),
                      fmt::format("the number of one of the {} tokens, which count from 0", vocabulary));
    }
  }
  const std::int64_t needed = read_token(settings, "eos_token_id").value_or(end);
  const std::optional<std::int64_t> forced_end = read_token(settings, kForcedEnd);
  if (forced_end && *forced_end != needed) {
    settings.refuse(kForcedEnd, std::to_string(*forced_end), fmt::format("{} as eos_token_id", needed));
  }
}

}  // namespace

HuggingFaceConfig read_hugging_face_config(const fs::path& directory, std::string_view caller) {
  const JsonSettings config = JsonSettings::read(directory / "config.json", caller);
  const FamilyDefaults& defaults = defaults_of(config);
  const fs::path generation = directory / "generation_config.json";
  // As in transformers 5, members of config.json have no effect on generate() if the other file exists.
  const bool has_generation = has_entry(generation, caller);
  const JsonSettings read = has_generation ? JsonSettings::read(generation, caller) : JsonSettings("");
  const JsonSettings& settings = has_generation ? read : config;
  const auto special_token = [&](const std::string& key, std::int64_t by_default) {
    const std::optional<std::int64_t> token = read_token(settings, key);
    return token ? *token : read_token(config, key).value_or(by_default);
  };
  HuggingFaceConfig result;
  result.family = defaults.family;
  refuse_other_models(config, result.family);
  result.model = read_model(config, defaults);
  check_ranges(result.model, config.where());  // before memory is taken for so many parameters and tokens
  check_vocabulary_sizes(config, result.model);
  result.positions = config.whole_number("max_position_embeddings").value_or(1024);
  const bool is_marian = result.family == HuggingFaceFamily::kMarian;
  if (!is_marian) check_first_position(config);
  result.has_shared_embedding = !is_marian || config.boolean("share_encoder_decoder_embeddings").value_or(true);
  result.has_tied_projection = config.boolean("tie_word_embeddings").value_or(true);
  result.padding = special_token("pad_token_id", defaults.padding);
  result.begin = special_token("decoder_start_token_id", defaults.begin);
  // generate() begins outputs with bos_token_id if its own file names no other token.
  const bool has_begin = read_token(settings, "decoder_start_token_id").has_value();
  if (has_generation && !has_begin) result.begin = read_token(settings, "bos_token_id").value_or(result.begin);
  result.end = special_token("eos_token_id", defaults.end);
  for (const JsonSettings* file : {&config, &settings}) {
    check_special_tokens(*file, result.model.output_vocabulary, result.end);
  }
  result.forced_token = read_token(settings, "forced_bos_token_id");
  result.forbidden = read_tokens(settings, "bad_words_ids");
  for (const std::int64_t token : read_tokens(settings, "suppress_tokens")) result.forbidden.push_back(token);
  sort_unique(result.forbidden);
  result.search = read_search(settings);
  if (is_marian && !has_generation) result.search.force_end = true;  // the default of MarianConfig
  config.expect_all_known(fmt::format("{} {}", kNeutralMembers, kNeutralSearchMembers), &settings);
  if (has_generation) settings.expect_all_known(kNeutralSearchMembers);
  return result;
}

}  // namespace edgewise
