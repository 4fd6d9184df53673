// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "edgewise/experiment/model_directory.h"
#include "edgewise/graph/batch.h"
#include "edgewise/text/vocabulary/sentence_frame.h"

namespace edgewise {

/// An input as tokens, and the special tokens around them.
struct EncodedInput {
  std::vector<std::int64_t> tokens;
  SentenceFrame frame;
};

/// Encodes an input in the language of the model's config. Errors begin with `caller`.
EncodedInput encode_input(const TranslationModel& model, std::string_view input, std::string_view caller);

/// Pairs an input with the tokens of an output. Both get the special tokens around them.
TokenPair pair_with_output(const TranslationModel& model, const EncodedInput& input,
                           const std::vector<std::int64_t>& output, std::string_view caller);

}  // namespace edgewise
