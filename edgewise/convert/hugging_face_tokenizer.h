// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "edgewise/convert/hugging_face_config.h"
#include "edgewise/translate/model_files.h"

namespace edgewise {

/// Returns the files of the tokenizer. Throws Error, beginning with `caller`, for a vocabulary whose tokens a tokenizer
/// of the family does not give. `longest_input` counts the tokens around an input; 0 means no limit.
std::map<std::string, std::string> write_tokenizer(const ModelFiles& model, HuggingFaceFamily family,
                                                   std::int64_t longest_input, std::string_view caller);

}  // namespace edgewise
