// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "edgewise/text/tokenizer/tokenizer_codec.h"
#include "edgewise/text/vocabulary/piece_codec.h"
#include "edgewise/text/vocabulary/token_list.h"
#include "edgewise/text/vocabulary/vocabulary.h"

namespace edgewise {

/// Makes a vocabulary of kind kMapped of the texts kPieces, kMetaspace and kTokens. `pieces` splits the text, and is
/// null for TokenText::kTokens. Vocabularies of
/// two sides may share the index, the pieces or both.
///
/// Encoding gives the tokens of Transformers' tokenizers without those around the sentence (sentence_frame.h): names of
/// tokens that the list has `in_text` become these tokens, and the text between them is split by the SentencePiece
/// model, which also normalises it. Decoding omits the tokens that the list says, and white space at both ends.
std::shared_ptr<const Vocabulary> make_mapped_vocabulary(std::shared_ptr<const TokenIndex> tokens,
                                                         std::shared_ptr<const PieceCodec> pieces);

/// Makes a vocabulary of kind kMapped of the text kTokenizer. Errors begin with `where`. Throws Error unless the list
/// has the tokens of the tokenizer.json; the list may have more.
std::shared_ptr<const Vocabulary> make_tokenizer_vocabulary(std::shared_ptr<const TokenIndex> tokens,
                                                            std::shared_ptr<const TokenizerCodec> codec,
                                                            std::string_view where);

}  // namespace edgewise
