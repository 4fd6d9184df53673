// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/vocabulary/sentencepiece_vocabulary.h"

#include <utility>

#include "edgewise/text/vocabulary/piece_codec.h"

namespace edgewise {
namespace {

bool is_ascii_control(std::size_t byte) { return byte < 0x20 || byte == 0x7F; }

/// Returns the rules of a vocabulary that is learned here. Outputs do not contain the bytes of control characters,
/// which would break lines; normalisation leaves no such byte in a training sentence.
SentenceRules rules_of(std::span<const Piece> pieces) {
  SentenceRules rules;
  std::size_t byte = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].type != PieceType::kByte) continue;
    if (is_ascii_control(byte++)) rules.forbidden.push_back(static_cast<std::int64_t>(i));
  }
  return rules;
}

class SentencePieceVocabulary final : public Vocabulary {
 public:
  SentencePieceVocabulary(std::string bytes, std::string_view name)
      : codec_(std::move(bytes), name, SpecialPieces::kOwn), rules_(rules_of(codec_.pieces())) {}

  VocabularyKind kind() const override { return VocabularyKind::kSentencePiece; }
  std::int64_t size() const override { return std::ssize(codec_.pieces()); }
  const SentenceRules& rules() const override { return rules_; }
  std::string serialize() const override { return codec_.bytes(); }
  std::optional<SentencePieceModel> piece_model() const override { return codec_.algorithm(); }

 private:
  std::vector<std::int64_t> encode_text(std::string_view sentence) const override { return codec_.encode(sentence); }
  std::vector<std::int64_t> sample_text(std::string_view sentence, const Sampling& sampling,
                                        std::uint64_t seed) const override {
    return codec_.sample(sentence, sampling, seed);
  }
  std::string decode_tokens(std::span<const std::int64_t> tokens) const override { return codec_.decode(tokens); }
  std::string_view text_of(std::int64_t token) const override {
    return codec_.pieces()[static_cast<std::size_t>(token)].text;
  }

  PieceCodec codec_;
  SentenceRules rules_;
};

}  // namespace

std::shared_ptr<const Vocabulary> build_sentencepiece_vocabulary(const std::vector<std::span<const std::string>>& sides,
                                                                 const VocabularyOptions& options) {
  return std::make_shared<SentencePieceVocabulary>(train_sentencepiece(sides, options), "the model just trained");
}

std::shared_ptr<const Vocabulary> parse_sentencepiece_vocabulary(std::string_view bytes, std::string_view name) {
  return std::make_shared<SentencePieceVocabulary>(std::string(bytes), name);
}

}  // namespace edgewise
