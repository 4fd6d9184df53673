// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "edgewise/convert/marian_tokens.h"
#include "edgewise/text/vocabulary/vocabulary.h"

namespace edgewise {

/// Returns the rules with which the outputs of Marian contain the tokens that those of Edgewise may contain.
MarianTokenRules marian_token_rules(const Vocabulary& output);

/// Returns the text of vocab.yml. A mapped vocabulary must have been imported from Marian; its last token,
/// kMarianPadding, is left out. Of a vocabulary that SentencePiece learned, the end and the unknown token get Marian's
/// names, and the padding and the begin token get the names of control characters, which outputs of Marian cannot
/// contain. Throws Error, beginning with `caller`, for other vocabularies.
std::string write_marian_vocabulary(const Vocabulary& vocabulary, bool has_languages, std::string_view caller);

}  // namespace edgewise
