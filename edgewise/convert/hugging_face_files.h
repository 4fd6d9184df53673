// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "edgewise/convert/hugging_face_config.h"
#include "edgewise/translate/model_files.h"

// The text files of an exported model of Hugging Face's transformers.

namespace edgewise {

/// Numbers that depend on the files of a model together.
struct HuggingFaceLengths {
  std::int64_t input = 0;      // most tokens of an input, with those around it; 0: no limit
  std::int64_t output = 0;     // most tokens of an output, with the begin and the end token
  std::int64_t positions = 0;  // on each side
};

/// Returns the lengths for the longest input and output. A formula has as many positions as are needed.
HuggingFaceLengths hugging_face_lengths(const ModelFiles& model);

/// Returns the text of config.json.
std::string write_hugging_face_config(const ModelFiles& model, HuggingFaceFamily family,
                                      const HuggingFaceLengths& lengths);

/// Returns the text of generation_config.json.
std::string write_generation_config(const ModelFiles& model, const HuggingFaceLengths& lengths);

/// Returns the files of the tokenizer. Throws Error, beginning with `caller`, for a vocabulary whose tokens a tokenizer
/// of the family does not give.
std::map<std::string, std::string> write_tokenizer(const ModelFiles& model, HuggingFaceFamily family,
                                                   const HuggingFaceLengths& lengths, std::string_view caller);

}  // namespace edgewise
