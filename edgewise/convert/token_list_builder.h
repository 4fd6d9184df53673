// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/text/vocabulary/piece_codec.h"
#include "edgewise/text/vocabulary/token_list.h"
#include "edgewise/translate/vocabulary_files.h"

namespace edgewise {

inline constexpr std::string_view kUnknownToken = "<unk>";

/// Builds the list of a vocabulary's tokens out of the files of another system.
class TokenListBuilder {
 public:
  /// `tokens` are those of a file, by number; the model has `size` tokens. `unknown` is the name of the unknown token.
  /// Decoding omits the padding, unknown and end token, and their names in texts are these tokens.
  TokenListBuilder(std::vector<std::string> tokens, std::int64_t size, const SpecialTokens& special,
                   std::string_view unknown, std::string where);

  TokenList& list() { return list_; }

  /// Adds a special token, which decoding omits, after the others, or finds it. Returns its number.
  std::int64_t add_special(const std::string& token);

  /// Makes the names of special tokens in a text ordinary text.
  void hide_names() { has_names_ = false; }

  /// Makes the tokens `>>name<<` languages that are written before inputs.
  void add_marian_languages();

  /// Gives tokens of the model that the files do not name a name of their own, that of unnamed_token. Throws Error for
  /// more tokens than the model has.
  std::shared_ptr<const TokenIndex> finish() &&;

 private:
  std::int64_t find(std::string_view token) const;

  std::int64_t size_;
  std::string where_;
  TokenList list_;
  bool has_names_ = true;
};

/// Returns the name of a token that the files of a model do not name.
std::string unnamed_token(std::size_t number);

std::string read_vocabulary_file(const std::filesystem::path& path, std::string_view caller);
std::shared_ptr<const PieceCodec> read_piece_codec(const std::filesystem::path& path, std::string_view caller);

/// Holds the SentencePiece models of both sides.
struct MarianPieces {
  std::shared_ptr<const PieceCodec> input;
  std::shared_ptr<const PieceCodec> output;  // the input's, if both files are equal
};

MarianPieces read_side_pieces(const std::filesystem::path& input, const std::filesystem::path& output,
                              std::string_view caller);

/// Makes the vocabularies of a Marian model, whose texts these pieces split: those of source.spm and target.spm in a
/// directory. Without `output`, both sides have the same tokens.
Vocabularies make_marian_vocabularies(const MarianPieces& pieces, TokenListBuilder input,
                                      std::optional<TokenListBuilder> output);
Vocabularies make_marian_vocabularies(const std::filesystem::path& directory, TokenListBuilder input,
                                      std::optional<TokenListBuilder> output, std::string_view caller);

}  // namespace edgewise
