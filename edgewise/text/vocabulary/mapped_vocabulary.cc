// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/vocabulary/mapped_vocabulary.h"

#include <string>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/random.h"
#include "edgewise/text/tokenizer/replaced_text.h"
#include "edgewise/text/unicode.h"
#include "edgewise/text/vocabulary/lookup_vocabulary.h"
#include "edgewise/text/vocabulary/vocabulary_names.h"

namespace edgewise {
namespace {

constexpr std::string_view kSpaceSymbol = "\u2581";

std::string replace_space_symbols(std::string_view text) { return replace_each(text, kSpaceSymbol, " "); }

/// Joins pieces as Hugging Face's tokenizers do: the first piece has no space.
std::string join_metaspace(const std::vector<std::string_view>& pieces) {
  std::string text;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    std::string piece = replace_space_symbols(pieces[i]);
    if (i == 0) std::erase(piece, ' ');
    text += piece;
  }
  return text;
}

class MappedVocabulary final : public Vocabulary {
 public:
  MappedVocabulary(std::shared_ptr<const TokenIndex> tokens, std::shared_ptr<const PieceCodec> pieces)
      : tokens_(std::move(tokens)), pieces_(std::move(pieces)) {}

  VocabularyKind kind() const override { return VocabularyKind::kMapped; }
  std::int64_t size() const override { return std::ssize(tokens_->list().tokens); }
  const SentenceRules& rules() const override { return tokens_->list().rules; }
  std::string serialize() const override { return write_token_list(tokens_->list()); }
  std::string_view pieces_name() const override { return pieces_ ? kPiecesFile : std::string_view(); }
  std::string serialize_pieces() const override { return pieces_ ? pieces_->bytes() : std::string(); }
  std::optional<SentencePieceModel> piece_model() const override {
    return pieces_ ? std::optional(pieces_->algorithm()) : std::nullopt;
  }

 private:
  TokenText text_kind() const { return tokens_->list().text; }

  std::vector<std::int64_t> encode_text(std::string_view sentence) const override {
    if (text_kind() == TokenText::kTokens) return encode_tokens(sentence);
    return encode_segments(sentence, [this](std::string_view text) { return pieces_->split(text); });
  }

  std::vector<std::int64_t> sample_text(std::string_view sentence, const Sampling& sampling,
                                        std::uint64_t seed) const override {
    if (text_kind() == TokenText::kTokens) return Vocabulary::sample_text(sentence, sampling, seed);
    std::uint64_t segment = 0;
    return encode_segments(
        sentence, [&](std::string_view text) { return pieces_->sample_split(text, sampling, mix(seed, segment++)); });
  }

  /// Encodes the text between the names of tokens piece by piece; `split` splits a segment into pieces.
  template <class Split>
  std::vector<std::int64_t> encode_segments(std::string_view sentence, Split split) const {
    std::vector<std::int64_t> tokens;
    for (std::size_t begin = 0; begin < sentence.size();) {
      const auto name = tokens_->names().find(sentence, begin);
      const std::size_t end = name ? name->begin : sentence.size();
      const std::string_view segment = sentence.substr(begin, end - begin);
      if (!segment.empty()) {
        for (const std::string& piece : split(segment)) tokens.push_back(tokens_->find_piece(piece));
      }
      if (text_kind() == TokenText::kMetaspace && pieces_->ends_with_space(segment)) {
        tokens.push_back(tokens_->find_piece(kSpaceSymbol));
      }
      if (!name) break;
      tokens.push_back(name->token);
      begin = end + name->size;
    }
    return tokens;
  }

  /// Encodes a text that consists of tokens with spaces between them.
  std::vector<std::int64_t> encode_tokens(std::string_view sentence) const {
    std::vector<std::int64_t> tokens;
    for (std::size_t begin = 0; begin < sentence.size();) {
      const std::size_t end = std::min(sentence.find(' ', begin), sentence.size());
      if (end > begin) tokens.push_back(find_token(sentence.substr(begin, end - begin)));
      begin = end + 1;
    }
    return tokens;
  }

  std::int64_t find_token(std::string_view text) const {
    const auto name = tokens_->names().find(text, 0);
    const bool is_name = name && name->begin == 0 && name->size == text.size();
    return is_name ? name->token : tokens_->find_piece(text);
  }

  std::string decode_tokens(std::span<const std::int64_t> tokens) const override {
    std::vector<std::string_view> texts;
    for (const std::int64_t token : tokens) texts.push_back(text_of(token));
    switch (text_kind()) {
      case TokenText::kTokens:
        return join_words(texts);
      case TokenText::kMetaspace:
        return join_metaspace(texts);
      default:
        break;
    }
    return std::string(strip_space(replace_space_symbols(pieces_->join(texts))));
  }

  std::string_view text_of(std::int64_t token) const override { return tokens_->text_of(token); }

  std::shared_ptr<const TokenIndex> tokens_;
  std::shared_ptr<const PieceCodec> pieces_;  // null if texts consist of tokens
};

}  // namespace

std::shared_ptr<const Vocabulary> make_mapped_vocabulary(std::shared_ptr<const TokenIndex> tokens,
                                                         std::shared_ptr<const PieceCodec> pieces) {
  check(tokens != nullptr, "make_mapped_vocabulary: tokens is null, needs a list of tokens");
  check(tokens->list().text != TokenText::kTokenizer,
        "make_mapped_vocabulary: the text of the vocabulary is tokenizer, needs make_tokenizer_vocabulary");
  check((tokens->list().text != TokenText::kTokens) == (pieces != nullptr),
        "make_mapped_vocabulary: the text of the vocabulary is {}, but pieces is {}; pieces need a model, tokens none",
        enum_name(tokens->list().text), pieces ? "a model" : "null");
  return std::make_shared<MappedVocabulary>(std::move(tokens), std::move(pieces));
}

}  // namespace edgewise
