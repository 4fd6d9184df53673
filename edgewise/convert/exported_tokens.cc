// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/exported_tokens.h"

#include "edgewise/convert/token_list_builder.h"

namespace edgewise {

TokenList mapped_tokens(const Vocabulary& vocabulary) { return parse_token_list(vocabulary.serialize(), "the model"); }

std::vector<std::string> all_tokens(const Vocabulary& vocabulary) {
  std::vector<std::string> tokens;
  for (std::int64_t i = 0; i < vocabulary.size(); ++i) tokens.emplace_back(vocabulary.token_text(i));
  return tokens;
}

std::vector<std::string> named_tokens(const TokenList& list) {
  std::vector<std::string> tokens = list.tokens;
  while (!tokens.empty() && tokens.back() == unnamed_token(tokens.size() - 1)) tokens.pop_back();
  return tokens;
}

std::string piece_model(const Vocabulary& vocabulary) {
  return vocabulary.kind() == VocabularyKind::kSentencePiece ? vocabulary.serialize() : vocabulary.serialize_pieces();
}

}  // namespace edgewise
