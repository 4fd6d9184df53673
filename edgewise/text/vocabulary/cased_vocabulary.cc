// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/vocabulary/cased_vocabulary.h"

#include <utility>

namespace edgewise {
namespace {

class CasedVocabulary final : public Vocabulary {
 public:
  CasedVocabulary(std::shared_ptr<const Vocabulary> vocabulary, SentenceCase sentence_case)
      : vocabulary_(std::move(vocabulary)), case_(std::move(sentence_case)) {}

  VocabularyKind kind() const override { return vocabulary_->kind(); }
  std::int64_t size() const override { return vocabulary_->size(); }
  const SentenceRules& rules() const override { return vocabulary_->rules(); }
  std::string serialize() const override { return vocabulary_->serialize(); }
  std::string serialize_pieces() const override { return vocabulary_->serialize_pieces(); }
  bool separates_punctuation() const override { return vocabulary_->separates_punctuation(); }
  std::optional<SentencePieceModel> piece_model() const override { return vocabulary_->piece_model(); }
  CaseKind case_kind() const override { return case_.kind(); }
  std::string serialize_case() const override { return case_.serialize(); }

 private:
  std::vector<std::int64_t> encode_text(std::string_view sentence) const override {
    return vocabulary_->encode(case_.apply(sentence));
  }
  std::vector<std::int64_t> sample_text(std::string_view sentence, const Sampling& sampling,
                                        std::uint64_t seed) const override {
    return vocabulary_->sample(case_.apply(sentence), sampling, seed);
  }
  std::string decode_tokens(std::span<const std::int64_t> tokens) const override {
    return case_.undo(vocabulary_->decode(tokens));
  }
  std::string_view text_of(std::int64_t token) const override { return vocabulary_->token_text(token); }

  std::shared_ptr<const Vocabulary> vocabulary_;
  SentenceCase case_;
};

}  // namespace

std::shared_ptr<const Vocabulary> with_case(std::shared_ptr<const Vocabulary> vocabulary, SentenceCase sentence_case) {
  if (sentence_case.kind() == CaseKind::kKeep) return vocabulary;
  return std::make_shared<CasedVocabulary>(std::move(vocabulary), std::move(sentence_case));
}

}  // namespace edgewise
