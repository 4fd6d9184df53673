// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "edgewise/text/vocabulary/token_list.h"
#include "edgewise/text/vocabulary/vocabulary.h"

namespace edgewise {

/// Returns the list of a mapped vocabulary.
TokenList mapped_tokens(const Vocabulary& vocabulary);

/// Returns the texts of all tokens, by number.
std::vector<std::string> all_tokens(const Vocabulary& vocabulary);

/// Returns the texts of the tokens without those at the end that the imported files did not name.
std::vector<std::string> named_tokens(const TokenList& list);

/// Returns the bytes of a vocabulary's SentencePiece model.
std::string piece_model(const Vocabulary& vocabulary);

}  // namespace edgewise
