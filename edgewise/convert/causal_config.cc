// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/causal_config.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/neutral_settings.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

/// A value of model_type, and the class that reads the model. The members of the config that the class does not read
/// must be absent.
struct CausalType {
  std::string_view type;
  std::string_view name;
  std::string_view architecture;
  CausalFamily family;
};

constexpr std::array kCausalTypes = {CausalType{"gpt2", "GPT-2", "GPT2LMHeadModel", CausalFamily::kGpt2},
                                     CausalType{"llama", "Llama", "LlamaForCausalLM", CausalFamily::kLlama},
                                     CausalType{"mistral", "Mistral", "MistralForCausalLM", CausalFamily::kLlama},
                                     CausalType{"ministral", "Ministral", "MinistralForCausalLM", CausalFamily::kLlama},
                                     CausalType{"qwen2", "Qwen 2", "Qwen2ForCausalLM", CausalFamily::kLlama}};

const CausalType* find_causal_type(const JsonSettings& config) {
  const std::optional<std::string> type = config.text("model_type");
  const auto found = std::ranges::find(kCausalTypes, type.value_or(""), &CausalType::type);
  return found != kCausalTypes.end() ? &*found : nullptr;
}

void check_architecture(const JsonSettings& config, std::string_view needed) {
  const JsonValue* classes = config.find("architectures");
  if (classes == nullptr) return;
  const bool has_class = std::ranges::find(classes->items, needed, &JsonValue::text) != classes->items.end();
  if (!has_class) config.refuse("architectures", describe(*classes), needed);
}

Activation read_activation_of(const JsonSettings& config, const std::string& key, const std::string& by_default) {
  const std::string name = config.text(key).value_or(by_default);
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return Activation::kGeluTanh;
  if (name == "gelu") return Activation::kGelu;
  if (name == "silu" || name == "swish") return Activation::kSilu;
  if (name == "relu") return Activation::kRelu;
  config.refuse(key, quote(name), "gelu_new, gelu_pytorch_tanh, gelu, silu, swish or relu");
}

/// Reads a whole number that is at least 1.
std::int64_t read_count(const JsonSettings& config, const std::string& key, std::int64_t by_default) {
  const std::int64_t count = config.whole_number(key).value_or(by_default);
  if (count < 1) config.refuse(key, std::to_string(count), "at least 1");
  return count;
}

/// Reads a number of heads, which divides another number.
std::int64_t read_heads(const JsonSettings& config, const std::string& key, std::int64_t by_default,
                        std::int64_t divided, std::string_view name) {
  const std::int64_t heads = read_count(config, key, by_default);
  if (divided % heads != 0) {
    config.refuse(key, std::to_string(heads), fmt::format("a divisor of {}, which is {}", name, divided));
  }
  return heads;
}

/// Returns what the two families have in common.
TransformerOptions common_options() {
  TransformerOptions model;
  model.kind = ModelKind::kLanguageModel;
  model.norm_placement = NormPlacement::kPre;
  model.final_norm = true;
  model.scale_embedding = false;
  model.begin_embedding = BeginEmbedding::kLearned;
  model.output_bias = false;
  model.dropout = {.embedding = 0, .residual = 0, .attention = 0, .activation = 0, .word = 0};
  return model;
}

void read_gpt2(const JsonSettings& config, CausalConfig& result) {
  TransformerOptions& model = result.model;
  for (const char* key : {"add_cross_attention", "scale_attn_by_inverse_layer_idx"}) config.require_boolean(key, false);
  config.require_boolean("scale_attn_weights", true);
  model.size = read_count(config, "n_embd", 768);
  model.heads = read_heads(config, "n_head", 12, model.size, "n_embd");
  model.decoder_layers = read_count(config, "n_layer", 12);
  model.feed_forward = read_count(config, "n_inner", 4 * model.size);
  model.activation = read_activation_of(config, "activation_function", "gelu_new");
  model.norm_epsilon = config.number("layer_norm_epsilon").value_or(1e-5);
  model.positions = PositionKind::kLearned;
  model.max_positions = read_count(config, "n_positions", 1024);
  model.dropout.embedding = config.number("embd_pdrop").value_or(0.1);
  model.dropout.residual = config.number("resid_pdrop").value_or(0.1);
  model.dropout.attention = config.number("attn_pdrop").value_or(0.1);
  result.positions = model.max_positions;
}

void read_rope(const JsonSettings& rope, RotaryOptions& result) {
  const auto read = [&](const char* key, double least, double most) {
    const std::optional<double> number = rope.number(key);
    if (number && *number >= least && *number <= most) return *number;
    rope.refuse(key, number ? fmt::format("{}", *number) : "left out",
                fmt::format("a number from {} to {}", least, most));
  };
  rope.require_number("partial_rotary_factor", 1);
  result.base = rope.number("rope_theta").value_or(result.base);
  const std::optional<std::string> older_type = rope.text("type");
  const std::string type = rope.text("rope_type").value_or(older_type.value_or("default"));
  if (type == "linear" || type == "llama3") {
    result.scaling = type == "linear" ? RotaryScaling::kLinear : RotaryScaling::kLlama3;
    result.factor = read("factor", 1, 1e6);
  } else if (type != "default") {
    rope.refuse("rope_type", quote(type), "default, linear or llama3");
  }
  if (type == "llama3") {
    result.low_frequency = read("low_freq_factor", 1e-3, 1e6);
    result.high_frequency = read("high_freq_factor", result.low_frequency, 1e6);
    result.trained_length = static_cast<std::int64_t>(read("original_max_position_embeddings", 1, 1e9));
  }
  rope.expect_all_known("");
}

/// Reads the frequencies of rotary positions, which transformers 5 has in rope_parameters, earlier versions in
/// rope_theta and rope_scaling.
RotaryOptions read_rotary(const JsonSettings& config) {
  config.require_number("partial_rotary_factor", 1);
  for (const char* key : {"rope_interleaved", "use_mrope"}) config.require_boolean(key, false);
  RotaryOptions result = {.base = config.number("rope_theta").value_or(kPositionBase)};
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const JsonValue* value = config.find(key);
    if (value == nullptr) continue;
    if (value->kind != JsonKind::kObject) config.refuse(key, describe(*value), "an object");
    read_rope(JsonSettings(fmt::format("{}: {}", config.where(), key), value->members), result);
  }
  return result;
}

/// Returns the tokens of a window, or nothing for a model without windows. transformers has windows of 4096 tokens if
/// the member is absent, and none if it is null.
std::optional<std::int64_t> read_window(const JsonSettings& config, bool is_qwen2) {
  constexpr std::int64_t kDefaultWindow = 4096;
  const bool is_used = !is_qwen2 || config.boolean("use_sliding_window").value_or(false);
  const bool is_null = config.find("sliding_window") == nullptr && config.has("sliding_window");
  if (!is_used || is_null) return std::nullopt;
  return read_count(config, "sliding_window", kDefaultWindow);
}

/// Returns for each layer whether its tokens attend to those of a window only, if the model has windows. transformers
/// reads Mistral with layer_types as Ministral.
std::vector<bool> find_sliding_layers(const JsonSettings& config, bool is_qwen2, bool has_window, std::int64_t layers) {
  const std::int64_t full = is_qwen2 ? config.whole_number("max_window_layers").value_or(28) : 0;
  const JsonValue* types = config.find("layer_types");
  if (types != nullptr && std::ssize(types->items) != layers) {
    config.refuse("layer_types", describe(*types), fmt::format("{} elements, one for each layer", layers));
  }
  std::vector<bool> slides;
  for (std::int64_t i = 0; i < layers; ++i) {
    if (types == nullptr) {
      slides.push_back(has_window && i >= full);
      continue;
    }
    const std::string& type = types->items[static_cast<std::size_t>(i)].text;
    slides.push_back(has_window && type == "sliding_attention");
    if (slides.back() || type == "full_attention") continue;
    config.refuse("layer_types", quote(type),
                  has_window ? "full_attention or sliding_attention" : "full_attention without sliding_window");
  }
  return slides;
}

/// Returns the relation of each layer: the tokens of a window, or all earlier ones. Llama does not read the members of
/// windows, and neither does Mistral those of Qwen 2, so they must be absent.
StringLists read_relation(const JsonSettings& config, std::int64_t layers) {
  const std::string type = config.text("model_type").value_or("");
  if (type == "llama") return {{"causal"}};
  const bool is_qwen2 = type == "qwen2";
  const std::optional<std::int64_t> window = read_window(config, is_qwen2);
  StringLists relation;
  for (const bool slides : find_sliding_layers(config, is_qwen2, window.has_value(), layers)) {
    relation.push_back({slides ? fmt::format("window {}", window.value_or(0)) : "causal"});
  }
  const bool are_equal = std::ranges::all_of(relation, [&](const auto& terms) { return terms == relation.front(); });
  if (are_equal) relation.resize(1);
  return relation;
}

void read_llama(const JsonSettings& config, CausalConfig& result) {
  TransformerOptions& model = result.model;
  const std::string type = config.text("model_type").value_or("");
  model.norm = NormKind::kRmsNorm;
  model.feed_forward_gate = true;
  model.positions = PositionKind::kRotary;
  model.size = read_count(config, "hidden_size", 4096);
  model.heads = read_heads(config, "num_attention_heads", 32, model.size, "hidden_size");
  const std::int64_t shared_heads = type == "mistral" || type == "ministral" ? 8 : model.heads;
  model.key_value_heads = read_heads(config, "num_key_value_heads", shared_heads, model.heads, "num_attention_heads");
  if (model.key_value_heads == model.heads) model.key_value_heads = 0;
  model.decoder_layers = read_count(config, "num_hidden_layers", 32);
  model.feed_forward = read_count(config, "intermediate_size", 11008);
  model.activation = read_activation_of(config, "hidden_act", "silu");
  model.norm_epsilon = config.number("rms_norm_eps").value_or(1e-6);
  model.attention_bias = type == "qwen2" || config.boolean("attention_bias").value_or(false);
  result.has_output_biases = type != "qwen2";
  model.feed_forward_bias = config.boolean("mlp_bias").value_or(false);
  model.dropout.attention = config.number("attention_dropout").value_or(0);
  model.rotary = read_rotary(config);
  config.require_number("head_dim", static_cast<double>(model.head_size()));
  result.positions = read_count(config, "max_position_embeddings", 2048);
}

/// Returns the tokens of a member, which is a token or a list of different ones; none if it is absent.
std::vector<std::int64_t> read_tokens(const JsonSettings& settings, const std::string& key, std::int64_t vocabulary) {
  const JsonValue* value = settings.find(key);
  if (value == nullptr) return {};
  const bool is_list = value->kind == JsonKind::kArray;
  std::vector<std::int64_t> tokens;
  for (const JsonValue& token : is_list ? value->items : std::vector{*value}) {
    const bool is_token = token.kind == JsonKind::kNumber && token.number >= 0 &&
                          token.number < static_cast<double>(vocabulary) &&
                          static_cast<double>(static_cast<std::int64_t>(token.number)) == token.number;
    if (!is_token) {
      settings.refuse(key, describe(*value),
                      fmt::format("the number of one of the {} tokens, which count from 0", vocabulary));
    }
    const auto number = static_cast<std::int64_t>(token.number);
    if (std::ranges::find(tokens, number) == tokens.end()) tokens.push_back(number);
  }
  constexpr std::size_t kMostTokens = 100;
  if (tokens.empty() || tokens.size() > kMostTokens) {
    settings.refuse(key, describe(*value), fmt::format("1 to {} tokens", kMostTokens));
  }
  return tokens;
}

void read_special_tokens(const JsonSettings& settings, CausalConfig& result) {
  const std::int64_t vocabulary = result.model.output_vocabulary;
  const auto read = [&](const char* key, std::optional<std::int64_t>& token) {
    const std::vector<std::int64_t> found = read_tokens(settings, key, vocabulary);
    if (found.size() > 1) settings.refuse(key, describe(*settings.find(key)), "one token");
    if (!found.empty()) token = found[0];
  };
  read("pad_token_id", result.padding);
  read("bos_token_id", result.begin);
  std::vector<std::int64_t> ends = read_tokens(settings, "eos_token_id", vocabulary);
  if (!ends.empty()) result.ends = std::move(ends);
}

}  // namespace

bool is_causal_model(const JsonSettings& config) { return find_causal_type(config) != nullptr; }

CausalConfig read_causal_config(const fs::path& directory, std::string_view caller) {
  const JsonSettings config = JsonSettings::read(directory / "config.json", caller);
  const CausalType* type = find_causal_type(config);
  check(type != nullptr, "{}: {} has no language model, needs gpt2, llama, mistral, ministral or qwen2 as model_type",
        caller, directory.string());
  check_architecture(config, type->architecture);
  config.require_boolean("is_encoder_decoder", false);
  for (const char* key : {"prefix", "pruned_heads", "quantization_config"}) config.require_absent(key);
  CausalConfig result;
  result.name = type->name;
  result.family = type->family;
  result.model = common_options();
  result.model.tying = config.boolean("tie_word_embeddings").value_or(type->family == CausalFamily::kGpt2)
                           ? Tying::kOutput
                           : Tying::kNone;
  result.family == CausalFamily::kGpt2 ? read_gpt2(config, result) : read_llama(config, result);
  constexpr std::int64_t kMostTokens = 1'000'000;
  const std::int64_t vocabulary = config.whole_number("vocab_size").value_or(0);
  if (vocabulary < 1 || vocabulary > kMostTokens) {
    config.refuse("vocab_size", std::to_string(vocabulary), fmt::format("1 to {}", kMostTokens));
  }
  result.model.input_vocabulary = result.model.output_vocabulary = vocabulary;
  check_ranges(result.model, config.where());  // before memory is taken for so many parameters, layers and tokens
  if (result.family == CausalFamily::kLlama) {
    result.model.relation = read_relation(config, result.model.decoder_layers);
  }
  read_special_tokens(config, result);
  const fs::path generation = directory / "generation_config.json";
  if (has_entry(generation, caller)) read_special_tokens(JsonSettings::read(generation, caller), result);
  config.expect_all_known(fmt::format("{} {} {}", kNeutralMembers, kNeutralCausalMembers, kNeutralSearchMembers));
  return result;
}

}  // namespace edgewise
