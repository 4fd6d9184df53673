// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "edgewise/options/transformer_options.h"
#include "edgewise/search/options.h"

namespace edgewise {

/// Models of Hugging Face's transformers.
enum class HuggingFaceFamily {
  kMarian,  // MarianMTModel
  kM2m100   // M2M100ForConditionalGeneration: M2M-100 and NLLB-200
};

/// The settings of config.json and generation_config.json.
struct HuggingFaceConfig {
  HuggingFaceFamily family = HuggingFaceFamily::kMarian;
  TransformerOptions model;          // with positions by a formula
  std::int64_t positions = 0;        // on each side
  bool has_shared_embedding = true;  // Marian: whether input and output have one table
  bool has_tied_projection = true;   // whether the output projection is the table of the output
  std::int64_t padding = 0;
  std::int64_t begin = 0;  // decoder_start_token_id
  std::int64_t end = 0;
  std::vector<std::int64_t> forbidden;       // tokens that outputs must not contain, ascending
  std::optional<std::int64_t> forced_token;  // first token of each output, the language
  SearchOptions search;
};

/// Reads the files. A member of generation_config.json replaces one of config.json. Throws Error for members that
/// Edgewise has no counterpart for, which it names. Members that have no effect on translations are ignored.
HuggingFaceConfig read_hugging_face_config(const std::filesystem::path& directory, std::string_view caller);

}  // namespace edgewise
