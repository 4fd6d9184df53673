// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/vocabulary/mapped_vocabulary.h"
#include "edgewise/text/vocabulary/vocabulary_names.h"

namespace edgewise {
namespace {

class TokenizerVocabulary final : public Vocabulary {
 public:
  TokenizerVocabulary(std::shared_ptr<const TokenIndex> tokens, std::shared_ptr<const TokenizerCodec> codec)
      : tokens_(std::move(tokens)), codec_(std::move(codec)) {}

  VocabularyKind kind() const override { return VocabularyKind::kMapped; }
  std::int64_t size() const override { return std::ssize(tokens_->list().tokens); }
  const SentenceRules& rules() const override { return tokens_->list().rules; }
  std::string serialize() const override { return write_token_list(tokens_->list()); }
  std::string_view pieces_name() const override { return kTokenizerFile; }
  std::string serialize_pieces() const override { return codec_->bytes(); }

 private:
  std::vector<std::int64_t> encode_text(std::string_view sentence) const override { return codec_->encode(sentence); }

  std::string decode_tokens(std::span<const std::int64_t> tokens) const override {
    std::vector<std::int64_t> known;
    for (const std::int64_t token : tokens) {
      if (token < std::ssize(codec_->tokens())) known.push_back(token);
    }
    return codec_->decode(known);
  }

  std::string_view text_of(std::int64_t token) const override { return tokens_->text_of(token); }

  std::shared_ptr<const TokenIndex> tokens_;
  std::shared_ptr<const TokenizerCodec> codec_;
};

}  // namespace

std::shared_ptr<const Vocabulary> make_tokenizer_vocabulary(std::shared_ptr<const TokenIndex> tokens,
                                                            std::shared_ptr<const TokenizerCodec> codec,
                                                            std::string_view where) {
  const TokenList& list = tokens->list();
  check(list.text == TokenText::kTokenizer, "{}: the text of the vocabulary is {}, needs tokenizer", where,
        enum_name(list.text));
  check(codec->tokens().size() <= list.tokens.size(), "{} has {} tokens, needs at most the {} of the vocabulary", where,
        codec->tokens().size(), list.tokens.size());
  for (std::size_t i = 0; i < codec->tokens().size(); ++i) {
    const std::string& text = codec->tokens()[i];
    if (!text.empty() && text != list.tokens[i]) {
      fail("{}: token {} is {}, needs {} as in the vocabulary", where, i, quote(text), quote(list.tokens[i]));
    }
  }
  return std::make_shared<TokenizerVocabulary>(std::move(tokens), std::move(codec));
}

}  // namespace edgewise
