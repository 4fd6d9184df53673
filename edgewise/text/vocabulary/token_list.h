// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/text/vocabulary/sentence_rules.h"

namespace edgewise {

/// The occurrence of a token's name in a text.
struct NameMatch {
  std::size_t begin = 0;
  std::size_t size = 0;
  std::int64_t token = 0;
};

/// Finds the names of tokens, such as `</s>`, in a text.
class NameMatcher {
 public:
  /// Adds a name, which is not empty.
  void add(std::string_view name, std::int64_t token);

  /// Returns the first match at or after `begin`; at one place the longest. Costs O(bytes · names that begin with the
  /// same byte).
  std::optional<NameMatch> find(std::string_view text, std::size_t begin) const;

 private:
  struct Name {
    std::string text;
    std::int64_t token;
  };

  std::array<std::vector<Name>, 256> by_first_byte_;  // longest first
};

/// How a text is split into tokens.
enum class TokenText {
  kPieces,     // into the pieces of a SentencePiece model
  kMetaspace,  // likewise, with the spaces of Hugging Face's tokenizers: white space at the end of a text is a piece
               // too, and decoding keeps it
  kTokens,     // at spaces: the text consists of tokens
  kTokenizer   // by a tokenizer.json, which has the same tokens
};

inline constexpr auto enum_names(TokenText) {
  return std::array{EnumName{TokenText::kPieces, "pieces"}, EnumName{TokenText::kMetaspace, "metaspace"},
                    EnumName{TokenText::kTokens, "tokens"}, EnumName{TokenText::kTokenizer, "tokenizer"}};
}

/// The vocabulary of another system: tokens with the numbers of that system, and the roles of those that are no text.
struct TokenList {
  TokenText text = TokenText::kPieces;
  SentenceRules rules = {};
  std::vector<std::int64_t> in_text = {};  // ascending; special tokens whose names in a text, `</s>`, are these tokens
  std::vector<std::string> tokens = {};    // by number

  friend bool operator==(const TokenList&, const TokenList&) = default;
};

/// Returns the text of vocabulary.json, a JSON object with a token on each line.
std::string write_token_list(const TokenList& list);

/// Parses vocabulary.json; error messages begin with "load_vocabulary: <name>". Throws Error for members that are
/// missing, unknown or there twice. TokenIndex checks the values.
TokenList parse_token_list(std::string_view bytes, std::string_view name);

/// A checked TokenList that finds tokens. Immutable; several vocabularies may share an index.
class TokenIndex {
 public:
  /// Throws Error, beginning with `where`, for a token that is empty, there twice or not UTF-8, a number outside the
  /// list, lists that do not ascend, an unknown token that is another special token too (with a tokenizer.json, which
  /// need not have one, it may be), an end token that outputs may not contain, and languages without a place or a place
  /// without languages.
  TokenIndex(TokenList list, std::string_view where);
  TokenIndex(const TokenIndex&) = delete;
  TokenIndex& operator=(const TokenIndex&) = delete;

  const TokenList& list() const { return list_; }
  const std::string& text_of(std::int64_t token) const { return list_.tokens[static_cast<std::size_t>(token)]; }

  /// Returns the token of a piece of text. A piece that the list does not have, or that is the name of a special token
  /// or of a language, is the unknown token.
  std::int64_t find_piece(std::string_view piece) const;

  /// Finds the tokens of TokenList::in_text.
  const NameMatcher& names() const { return names_; }

 private:
  TokenList list_;
  std::unordered_map<std::string_view, std::int64_t> token_of_;  // keys: views of list_.tokens, text only
  NameMatcher names_;
};

}  // namespace edgewise
