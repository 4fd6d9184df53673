// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/causal_config.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

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
  std::string_view architecture;
  CausalFamily family;
};

constexpr std::array kCausalTypes = {CausalType{"gpt2", "GPT2LMHeadModel", CausalFamily::kGpt2},
                                     CausalType{"llama", "LlamaForCausalLM", CausalFamily::kLlama},
                                     CausalType{"mistral", "MistralForCausalLM", CausalFamily::kLlama},
                                     CausalType{"qwen2", "Qwen2ForCausalLM", CausalFamily::kLlama}};

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
  model.size = config.whole_number("n_embd").value_or(768);
  model.heads = config.whole_number("n_head").value_or(12);
  model.decoder_layers = config.whole_number("n_layer").value_or(12);
  model.feed_forward = config.whole_number("n_inner").value_or(4 * model.size);
  model.activation = read_activation_of(config, "activation_function", "gelu_new");
  model.norm_epsilon = config.number("layer_norm_epsilon").value_or(1e-5);
  model.positions = PositionKind::kLearned;
  model.max_positions = config.whole_number("n_positions").value_or(1024);
  model.dropout.embedding = config.number("embd_pdrop").value_or(0.1);
  model.dropout.residual = config.number("resid_pdrop").value_or(0.1);
  model.dropout.attention = config.number("attn_pdrop").value_or(0.1);
  result.positions = model.max_positions;
}

/// Reads the base of rotary positions, which transformers 5 has in rope_parameters.
double read_rotary_base(const JsonSettings& config) {
  constexpr double kDefaultBase = 10000;
  config.require_absent("rope_scaling");
  config.require_number("partial_rotary_factor", 1);
  const double outer = config.number("rope_theta").value_or(kDefaultBase);
  const JsonValue* value = config.find("rope_parameters");
  if (value == nullptr) return outer;
  const JsonSettings rope(config.where() + ": rope_parameters", value->members);
  const std::string type = rope.text("rope_type").value_or("default");
  if (type != "default")
    rope.refuse("rope_type", quote(type), "\"default\", because Edgewise does not scale positions");
  rope.require_number("partial_rotary_factor", 1);
  const double base = rope.number("rope_theta").value_or(outer);
  rope.expect_all_known("");
  return base;
}

/// Returns the relation of each layer, if some layers have windows: the last sliding_window tokens.
std::optional<StringLists> read_windows(const JsonSettings& config, bool is_qwen2, std::int64_t layers) {
  const bool may_slide = config.boolean("use_sliding_window").value_or(!is_qwen2);
  const std::optional<std::int64_t> size = config.whole_number("sliding_window");
  const std::int64_t full = config.whole_number("max_window_layers").value_or(28);
  const JsonValue* types = config.find("layer_types");
  if (!size || !may_slide) {
    const auto slides = [](const JsonValue& type) { return type.text != "full_attention"; };
    if (types != nullptr && std::ranges::any_of(types->items, slides)) {
      config.refuse("layer_types", describe(*types), "full_attention for all layers without sliding_window");
    }
    return std::nullopt;
  }
  const std::vector<std::string> window = {fmt::format("window {}", *size)};
  if (types == nullptr && !is_qwen2) return StringLists{window};
  StringLists relation;
  for (std::int64_t i = 0; i < layers; ++i) {
    bool slides = is_qwen2 && i >= full;
    if (types != nullptr) {
      if (std::ssize(types->items) != layers) {
        config.refuse("layer_types", describe(*types), fmt::format("{} elements, one for each layer", layers));
      }
      const std::string& type = types->items[static_cast<std::size_t>(i)].text;
      slides = type == "sliding_attention";
      if (!slides && type != "full_attention") {
        config.refuse("layer_types", quote(type), "full_attention or sliding_attention");
      }
    }
    relation.push_back(slides ? window : std::vector<std::string>{"causal"});
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
  model.size = config.whole_number("hidden_size").value_or(4096);
  model.heads = config.whole_number("num_attention_heads").value_or(32);
  model.key_value_heads = config.whole_number("num_key_value_heads").value_or(type == "mistral" ? 8 : model.heads);
  if (model.key_value_heads == model.heads) model.key_value_heads = 0;
  model.decoder_layers = config.whole_number("num_hidden_layers").value_or(32);
  model.feed_forward = config.whole_number("intermediate_size").value_or(11008);
  model.activation = read_activation_of(config, "hidden_act", "silu");
  model.norm_epsilon = config.number("rms_norm_eps").value_or(1e-6);
  model.attention_bias = type == "qwen2" || config.boolean("attention_bias").value_or(false);
  result.has_output_biases = type != "qwen2";
  model.feed_forward_bias = config.boolean("mlp_bias").value_or(false);
  model.dropout.attention = config.number("attention_dropout").value_or(0);
  model.rotary_base = read_rotary_base(config);
  if (model.heads > 0) config.require_number("head_dim", static_cast<double>(model.size / model.heads));
  result.positions = config.whole_number("max_position_embeddings").value_or(2048);
  if (const auto relation = read_windows(config, type == "qwen2", model.decoder_layers)) model.relation = *relation;
}

/// Returns a token, which may be a list of one.
std::optional<std::int64_t> read_special(const JsonSettings& settings, const std::string& key,
                                         std::int64_t vocabulary) {
  const JsonValue* value = settings.find(key);
  if (value == nullptr) return std::nullopt;
  const bool is_list = value->kind == JsonKind::kArray && value->items.size() == 1;
  const JsonValue& token = is_list ? value->items[0] : *value;
  const bool is_token = token.kind == JsonKind::kNumber && token.number >= 0 &&
                        token.number < static_cast<double>(vocabulary) &&
                        static_cast<double>(static_cast<std::int64_t>(token.number)) == token.number;
  if (!is_token) {
    settings.refuse(key, describe(*value),
                    fmt::format("the number of one of the {} tokens, which count from 0", vocabulary));
  }
  return static_cast<std::int64_t>(token.number);
}

void read_special_tokens(const JsonSettings& settings, CausalConfig& result) {
  const std::int64_t vocabulary = result.model.output_vocabulary;
  const auto read = [&](const char* key, std::optional<std::int64_t>& token) {
    if (const auto found = read_special(settings, key, vocabulary)) token = found;
  };
  read("pad_token_id", result.padding);
  read("bos_token_id", result.begin);
  read("eos_token_id", result.end);
}

}  // namespace

bool is_causal_model(const JsonSettings& config) { return find_causal_type(config) != nullptr; }

CausalConfig read_causal_config(const fs::path& directory, std::string_view caller) {
  const JsonSettings config = JsonSettings::read(directory / "config.json", caller);
  const CausalType* type = find_causal_type(config);
  check(type != nullptr, "{}: {} has no language model, needs gpt2, llama, mistral or qwen2 as model_type", caller,
        directory.string());
  check_architecture(config, type->architecture);
  config.require_boolean("is_encoder_decoder", false);
  for (const char* key : {"prefix", "pruned_heads", "quantization_config"}) config.require_absent(key);
  CausalConfig result;
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
  check_ranges(result.model, config.where());  // before memory is taken for so many parameters and tokens
  read_special_tokens(config, result);
  const fs::path generation = directory / "generation_config.json";
  if (has_entry(generation, caller)) read_special_tokens(JsonSettings::read(generation, caller), result);
  config.expect_all_known(fmt::format("{} {} {}", kNeutralMembers, kNeutralCausalMembers, kNeutralSearchMembers));
  return result;
}

}  // namespace edgewise
