// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "edgewise/text/vocabulary/vocabulary.h"

namespace edgewise {

/// Returns the files tokenizer.json and tokenizer_config.json of a language model's vocabulary. An imported tokenizer
/// is written unchanged. Tokens of Edgewise become BPE without merges (characters, bytes), or the BPE or the unigram
/// model of their SentencePiece model; a text begins with the begin token. Names of special tokens in a text are these
/// tokens. `positions` is the longest text. Throws Error, beginning with `caller`, for other vocabularies, and for
/// placeholders.
std::map<std::string, std::string> write_causal_tokenizer(const Vocabulary& vocabulary, std::int64_t positions,
                                                          std::string_view caller);

}  // namespace edgewise
