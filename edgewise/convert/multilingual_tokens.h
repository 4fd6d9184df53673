// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "edgewise/convert/token_list_builder.h"

namespace edgewise {

/// The tokens of M2M100Tokenizer or NllbTokenizer, with the tokens of the languages behind the others.
struct MultilingualTokens {
  std::vector<std::string> listed;  // by number
  std::vector<std::string> added;   // behind the listed ones: `__fr__` of M2M-100, `fra_Latn` and `<mask>` of NLLB
  bool is_nllb = false;
  LanguagePlace place = LanguagePlace::kBeforeBoth;
};

/// Returns the tokens of an NLLB model without those of languages: its SentencePiece model has three special pieces,
/// which become four others.
std::vector<std::string> nllb_tokens(const PieceCodec& pieces);

/// Makes the list of the tokens of a model with `size` tokens. Errors begin with `where`.
TokenListBuilder multilingual_list(const MultilingualTokens& tokens, std::int64_t size, const SpecialTokens& special,
                                   std::string where);

}  // namespace edgewise
