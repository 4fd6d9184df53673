// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/causal_tokenizer.h"
#include "edgewise/convert/export_checks.h"
#include "edgewise/convert/exported_content.h"
#include "edgewise/convert/exported_model.h"
#include "edgewise/convert/position_tables.h"
#include "edgewise/convert/system_layouts.h"
#include "edgewise/translate/model_files.h"

namespace edgewise {
namespace {

/// Classes of transformers that can have a model.
enum class CausalTarget { kGpt2, kLlama, kMistral, kMinistral, kQwen2 };

/// The rows that a table of the positions of a formula has at least.
constexpr std::int64_t kLeastPositions = 2048;

/// Throws Error for biases that the class does not have, unless they are zeros.
void check_biases(const StoredTensors& parameters, CausalTarget target, std::string_view caller) {
  for (const TensorInfo& tensor : parameters.tensors) {
    const bool is_projection = tensor.name == "generator.bias";
    const bool is_attention = target == CausalTarget::kQwen2 && tensor.name.ends_with(".self_attention.output.bias");
    if (!is_projection && !is_attention) continue;
    check(std::ranges::all_of(to_floats(tensor, caller), [](float value) { return value == 0; }),
          "{}: {} has elements other than 0, needs 0, as transformers has no such bias{}", caller, tensor.name,
          is_projection ? "; train with model.output_bias=false" : " in Qwen 2");
  }
}

/// Throws Error for options that neither GPT-2 nor Llama has.
void check_common_options(const Experiment& experiment, std::string_view caller) {
  const TransformerOptions& model = experiment.model;
  if (model.score != ScoreKind::kDot) refuse_option(caller, "model.score", enum_name(model.score), "dot");
  if (model.clamp) refuse_option(caller, "model.clamp", json_number(*model.clamp), "no limit");
  if (model.norm_placement != NormPlacement::kPre) {
    refuse_option(caller, "model.norm_placement", enum_name(model.norm_placement), "pre");
  }
  if (!model.final_norm) refuse_option(caller, "model.final_norm", "false", "true");
  if (model.scale_embedding) refuse_option(caller, "model.scale_embedding", "true", "false");
  check_case_is_kept(experiment.vocabulary, caller);
}

/// The layers with windows, which are equally long.
struct CausalWindows {
  std::int64_t size = 0;  // 0 if no layer has a window
  std::vector<bool> slides;
};

CausalWindows find_windows(const TransformerOptions& model, std::string_view caller) {
  const RelationPatterns patterns = model.decoder_patterns();
  CausalWindows windows;
  for (std::int64_t i = 0; i < model.decoder_layers; ++i) {
    const auto layer = static_cast<std::size_t>(i);
    const RelationTerms& terms = patterns.of_layer(layer);
    windows.slides.push_back(!patterns.is_default(layer));
    if (!windows.slides.back()) continue;
    const bool is_window = terms.size() == 1 && terms[0].kind == TermKind::kWindow;
    if (is_window && windows.size == 0) windows.size = terms[0].size;
    if (is_window && terms[0].size == windows.size) continue;
    refuse_option(caller, "model.relation", quote(format_terms(terms)), "causal and windows of one length");
  }
  return windows;
}

CausalTarget choose_llama(const TransformerOptions& model, std::string_view caller) {
  if (model.positions != PositionKind::kRotary) {
    refuse_option(caller, "model.positions", enum_name(model.positions), "rotary with norm rms_norm, as Llama");
  }
  if (!model.feed_forward_gate) refuse_option(caller, "model.feed_forward_gate", "false", "true for Llama");
  const CausalWindows windows = find_windows(model, caller);
  if (windows.size == 0) return CausalTarget::kLlama;
  if (model.feed_forward_bias) refuse_option(caller, "model.feed_forward_bias", "true", "false with a window");
  const bool is_everywhere = std::ranges::find(windows.slides, false) == windows.slides.end();
  if (model.attention_bias) return CausalTarget::kQwen2;
  return is_everywhere ? CausalTarget::kMistral : CausalTarget::kMinistral;
}

CausalTarget choose_target(const TransformerOptions& model, std::string_view caller) {
  if (model.norm == NormKind::kRmsNorm) return choose_llama(model, caller);
  if (model.norm != NormKind::kLayerNorm) {
    refuse_option(caller, "model.norm", enum_name(model.norm), "layer_norm (GPT-2) or rms_norm (Llama)");
  }
  if (!has_position_vectors(model.positions)) {
    refuse_option(caller, "model.positions", enum_name(model.positions), "position vectors with layer_norm, as GPT-2");
  }
  if (model.feed_forward_gate) refuse_option(caller, "model.feed_forward_gate", "true", "false for GPT-2");
  if (model.num_key_value_heads() != model.heads) {
    refuse_option(caller, "model.key_value_heads", std::to_string(model.key_value_heads), "0 for GPT-2");
  }
  if (find_windows(model, caller).size > 0) refuse_option(caller, "model.relation", "a window", "causal for GPT-2");
  return CausalTarget::kGpt2;
}

std::string_view causal_activation(Activation activation) {
  return activation == Activation::kGeluTanh ? "gelu_new" : enum_name(activation);
}

/// Returns the most tokens of a text: the rows of the table of positions, or the length of training.
std::int64_t count_positions(const Experiment& experiment) {
  if (!has_position_vectors(experiment.model.positions)) return experiment.batch.length;
  const std::int64_t learned = experiment.model.num_learned_positions();
  return learned > 0 ? learned : std::max(kLeastPositions, experiment.batch.length);
}

void add_special(const SentenceRules& rules, JsonObject& json) {
  const SpecialTokens& special = rules.special;
  json.add("bos_token_id", special.begin).add("pad_token_id", special.padding);
  if (rules.other_ends.empty()) {
    json.add("eos_token_id", special.end);
  } else {
    json.add_json("eos_token_id", fmt::format("[{}, {}]", special.end, fmt::join(rules.other_ends, ", ")));
  }
}

std::string write_gpt2_config(const Experiment& experiment, const SentenceRules& rules) {
  const TransformerOptions& model = experiment.model;
  JsonObject json;
  json.add_json("architectures", R"(["GPT2LMHeadModel"])").add("model_type", "gpt2").add("dtype", "float32");
  json.add("n_embd", model.size).add("n_head", model.heads).add("n_layer", model.decoder_layers);
  json.add("n_inner", model.feed_forward).add("n_positions", count_positions(experiment));
  json.add("vocab_size", model.output_vocabulary).add("activation_function", causal_activation(model.activation));
  json.add("layer_norm_epsilon", model.norm_epsilon).add("tie_word_embeddings", model.tying == Tying::kOutput);
  json.add("embd_pdrop", model.dropout.embedding).add("resid_pdrop", model.dropout.residual);
  json.add("attn_pdrop", model.dropout.attention);
  add_special(rules, json);
  return json.text() + "\n";
}

void add_windows(const CausalWindows& windows, CausalTarget target, JsonObject& json) {
  json.add("sliding_window", windows.size);
  if (target == CausalTarget::kMistral) return;
  if (target == CausalTarget::kQwen2) json.add("use_sliding_window", true);
  json.add_json("layer_types", json_array(windows.slides, [](bool slides) {
                  return quote_json(slides ? "sliding_attention" : "full_attention");
                }));
}

/// Returns the name of a class and its model_type.
std::pair<std::string_view, std::string_view> names_of(CausalTarget target) {
  if (target == CausalTarget::kMistral) return {"MistralForCausalLM", "mistral"};
  if (target == CausalTarget::kMinistral) return {"MinistralForCausalLM", "ministral"};
  if (target == CausalTarget::kQwen2) return {"Qwen2ForCausalLM", "qwen2"};
  return {"LlamaForCausalLM", "llama"};
}

std::string describe_rope(const RotaryOptions& rotary) {
  const bool is_scaled = rotary.scaling != RotaryScaling::kNone;
  JsonObject rope;
  rope.add("rope_theta", rotary.base).add("rope_type", is_scaled ? enum_name(rotary.scaling) : "default");
  if (is_scaled) rope.add("factor", rotary.factor);
  if (rotary.scaling == RotaryScaling::kLlama3) {
    rope.add("low_freq_factor", rotary.low_frequency).add("high_freq_factor", rotary.high_frequency);
    rope.add("original_max_position_embeddings", rotary.trained_length);
  }
  return rope.text();
}

std::string write_llama_config(const Experiment& experiment, CausalTarget target, const SentenceRules& rules,
                               std::string_view caller) {
  const TransformerOptions& model = experiment.model;
  const auto [name, type] = names_of(target);
  JsonObject json;
  json.add_json("architectures", fmt::format("[{}]", quote_json(name))).add("model_type", type);
  json.add("dtype", "float32");
  json.add("hidden_size", model.size).add("num_attention_heads", model.heads).add("head_dim", model.head_size());
  json.add("num_key_value_heads", model.num_key_value_heads()).add("num_hidden_layers", model.decoder_layers);
  json.add("intermediate_size", model.feed_forward).add("hidden_act", causal_activation(model.activation));
  json.add("max_position_embeddings", count_positions(experiment)).add("rms_norm_eps", model.norm_epsilon);
  json.add("vocab_size", model.output_vocabulary).add("tie_word_embeddings", model.tying == Tying::kOutput);
  json.add("attention_dropout", model.dropout.attention);
  // Transformers 4 reads the base and the scaling from members of their own.
  json.add_json("rope_parameters", describe_rope(model.rotary)).add("rope_theta", model.rotary.base);
  if (model.rotary.scaling != RotaryScaling::kNone) json.add_json("rope_scaling", describe_rope(model.rotary));
  if (target == CausalTarget::kLlama) {
    json.add("attention_bias", model.attention_bias).add("mlp_bias", model.feed_forward_bias);
  } else {
    add_windows(find_windows(model, caller), target, json);
  }
  add_special(rules, json);
  return json.text() + "\n";
}

/// Returns the parameters of GPT-2: with all biases, and with a table of the positions of a formula.
StoredTensors gpt2_parameters(const ModelFiles& model, TransformerOptions options, std::string_view caller) {
  options.attention_bias = options.feed_forward_bias = options.norm_bias = true;
  StoredTensors parameters = exported_parameters(model, options, ExportedTypes::kStored, caller);
  if (options.positions != PositionKind::kLearned) {
    const std::int64_t rows = count_positions(model.experiment);
    parameters.add("output_positions.weight", {rows, options.size},
                   position_table(options.size, options.positions, rows));
  }
  return parameters;
}

std::string write_causal_parameters(const ModelFiles& model, CausalTarget target, std::string_view caller) {
  const TransformerOptions& options = model.experiment.model;
  const bool is_gpt2 = target == CausalTarget::kGpt2;
  const StoredTensors parameters = is_gpt2 ? gpt2_parameters(model, options, caller)
                                           : exported_parameters(model, options, ExportedTypes::kStored, caller);
  check_biases(parameters, target, caller);
  const std::vector<TensorLayout> layout =
      is_gpt2 ? gpt2_layout(options, "transformer.") : llama_layout(options, target != CausalTarget::kQwen2);
  const StoredTensors exported = export_parameters(parameters.tensors, layout);
  return serialize_safetensors(exported.tensors, {{"format", "pt"}});
}

}  // namespace

std::map<std::string, std::string> export_causal(const ModelFiles& model, std::string_view caller) {
  const Experiment& experiment = model.experiment;
  check_common_options(experiment, caller);
  const CausalTarget target = choose_target(experiment.model, caller);
  const SentenceRules& rules = model.codec.vocabularies.output->rules();
  std::map<std::string, std::string> files =
      write_causal_tokenizer(*model.codec.vocabularies.output, count_positions(experiment), caller);
  files["config.json"] = target == CausalTarget::kGpt2 ? write_gpt2_config(experiment, rules)
                                                       : write_llama_config(experiment, target, rules, caller);
  JsonObject generation;
  add_special(rules, generation);
  files["generation_config.json"] = generation.text() + "\n";
  files["model.safetensors"] = write_causal_parameters(model, target, caller);
  return files;
}

}  // namespace edgewise
