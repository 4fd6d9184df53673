// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "edgewise/text/vocabulary/tokenizer.h"
#include "edgewise/text/vocabulary/vocabulary.h"

namespace edgewise {

/// Preprocessing of sentences before they are split into tokens; stored with the vocabulary.
struct TextPreprocessing {
  bool separate_punctuation = false;
  MarkSpacing marks = MarkSpacing::kClose;  // spacing that decoding gives to `!` and `?`
};

/// A vocabulary of words or characters in a hash table.
class LookupVocabulary final : public Vocabulary {
 public:
  /// `tokens` must be distinct and begin with kSpecialTokens.
  LookupVocabulary(VocabularyKind kind, const TextPreprocessing& preprocessing, std::vector<std::string> tokens);
  LookupVocabulary(const LookupVocabulary&) = delete;
  LookupVocabulary& operator=(const LookupVocabulary&) = delete;

  VocabularyKind kind() const override { return kind_; }
  std::int64_t size() const override { return static_cast<std::int64_t>(tokens_.size()); }
  bool separates_punctuation() const override { return preprocessing_.separate_punctuation; }
  std::string serialize() const override;

 private:
  std::vector<std::int64_t> encode_text(std::string_view sentence) const override;
  std::string decode_tokens(std::span<const std::int64_t> tokens) const override;
  std::string_view text_of(std::int64_t token) const override;

  VocabularyKind kind_;
  TextPreprocessing preprocessing_;
  std::vector<std::string> tokens_;
  std::unordered_map<std::string_view, std::int64_t> token_of_;  // keys: views of tokens_, without special tokens
};

/// Builds one vocabulary of the most frequent tokens of all `sides`, each of which is a list of sentences.
std::shared_ptr<const Vocabulary> build_lookup_vocabulary(const std::vector<std::span<const std::string>>& sides,
                                                          const VocabularyOptions& options);

}  // namespace edgewise
