// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "edgewise/base/files/json_settings.h"
#include "edgewise/options/transformer_options.h"

namespace edgewise {

/// Language models of Hugging Face's transformers.
enum class CausalFamily {
  kGpt2,  // GPT2LMHeadModel
  kLlama  // LlamaForCausalLM, MistralForCausalLM, MinistralForCausalLM and Qwen2ForCausalLM
};

/// The settings of config.json, and the special tokens of generation_config.json.
struct CausalConfig {
  std::string_view name;  // "Llama"
  CausalFamily family = CausalFamily::kGpt2;
  TransformerOptions model;
  std::int64_t positions = 0;     // the most tokens that the model was trained on
  bool has_output_biases = true;  // whether the output projections of attention have biases if the others have them
  std::optional<std::int64_t> padding = {};
  std::optional<std::int64_t> begin = {};
  std::vector<std::int64_t> ends = {};  // the first one is that between the texts of training
};

/// Returns whether config.json has the model_type of a language model.
bool is_causal_model(const JsonSettings& config);

/// Reads the files. A member of generation_config.json replaces one of config.json. Throws Error for members that
/// Edgewise has no counterpart for, which it names. Members that have no effect on the model are ignored, and so are
/// those of generate(), for which `edgewise generate` has options.
CausalConfig read_causal_config(const std::filesystem::path& directory, std::string_view caller);

}  // namespace edgewise
