// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/multilingual_tokens.h"

#include <string_view>
#include <utility>

namespace edgewise {
namespace {

/// Returns whether a special token is a language: `__fr__` of M2M-100, `fra_Latn` of NLLB.
bool is_language(std::string_view token) { return !token.starts_with('<'); }

/// Returns the name of a language: `__fr__` is `fr`.
std::string language_name(const std::string& token) {
  const bool is_marked = token.size() > 4 && token.starts_with("__") && token.ends_with("__");
  return is_marked ? token.substr(2, token.size() - 4) : token;
}

}  // namespace

std::vector<std::string> nllb_tokens(const PieceCodec& pieces) {
  constexpr std::size_t kSpecialPieces = 3;
  std::vector<std::string> tokens = {"<s>", "<pad>", "</s>", std::string(kUnknownToken)};
  for (std::size_t i = kSpecialPieces; i < pieces.pieces().size(); ++i) tokens.push_back(pieces.pieces()[i].text);
  return tokens;
}

TokenListBuilder multilingual_list(const MultilingualTokens& tokens, std::int64_t size, const SpecialTokens& special,
                                   std::string where) {
  TokenListBuilder builder(tokens.listed, size, special, kUnknownToken, std::move(where));
  SentenceRules& rules = builder.list().rules;
  builder.list().text = tokens.is_nllb ? TokenText::kMetaspace : TokenText::kPieces;
  builder.add_special("<s>");
  for (const std::string& token : tokens.added) {
    const std::int64_t number = builder.add_special(token);
    if (is_language(token)) rules.languages.push_back({language_name(token), number});
  }
  rules.language_place = tokens.place;
  return builder;
}

}  // namespace edgewise
