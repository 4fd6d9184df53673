// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "edgewise/text/tokenizer/added_tokens.h"
#include "edgewise/text/tokenizer/pair_merger.h"
#include "edgewise/text/tokenizer/tokenizer_file.h"

namespace edgewise {

/// Splits texts into the tokens of a tokenizer.json with byte pairs and joins tokens to texts, as Hugging Face's
/// tokenizers do. Immutable.
class TokenizerCodec {
 public:
  /// Reads the bytes of a tokenizer.json. Errors begin with `where`.
  TokenizerCodec(std::string bytes, const std::string& where);

  const std::string& bytes() const { return bytes_; }

  /// Returns the texts of the tokens by number; numbers that no token has are empty.
  const std::vector<std::string>& tokens() const { return tokens_; }

  /// Returns the numbers of the tokens that decoding omits, ascending.
  const std::vector<std::int64_t>& special() const { return special_; }

  /// Returns the token that stands for unknown characters; nothing if the model has none.
  std::optional<std::int64_t> unknown() const;

  /// Returns the tokens of a text in UTF-8, without those around it. Names of added tokens in the text, `</s>`, are
  /// these tokens. Throws Error for a text of more than 16 MB.
  std::vector<std::int64_t> encode(std::string_view text) const;

  /// Returns the text of tokens that exist, special ones included.
  std::string decode(std::span<const std::int64_t> tokens) const;

 private:
  const std::string& text_of(std::int64_t token) const;  // in decoded texts
  void number_tokens(const std::string& where);
  void encode_section(std::string_view text, bool begins_text, std::vector<std::int64_t>& tokens) const;

  std::string bytes_;
  TokenizerFile file_;
  PairMerger merger_;
  AddedTokenFinder raw_tokens_;         // found before the text is normalised
  AddedTokenFinder normalized_tokens_;  // found afterwards
  std::vector<std::string> tokens_;
  std::unordered_map<std::int64_t, std::string> decoded_;  // texts that decoding gives to tokens instead of their own
  std::vector<std::int64_t> special_;
};

}  // namespace edgewise
