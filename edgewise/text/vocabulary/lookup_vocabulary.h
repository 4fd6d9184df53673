// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "edgewise/text/unicode.h"
#include "edgewise/text/vocabulary/vocabulary.h"

namespace edgewise {

/// Spacing of `!` and `?`: directly after the word (English), or after a space (French).
enum class MarkSpacing { kClose, kApart };

/// Replaces the no-break spaces of French, U+00A0 and U+202F, by spaces, and inserts a space before each of `,.!?` that
/// does not follow one: "Va ! Oui, va." becomes "Va ! Oui , va .". The textbook chapter does so before it splits at
/// spaces.
std::string separate_punctuation(std::string_view text);

/// Removes the spaces that separate_punctuation inserted: before `,` and `.`, and, for kClose, before `!` and `?`.
/// Cannot restore the spaces around a point between digits: "3 .14" becomes "3.14", and "3 . 14" becomes "3. 14".
std::string join_punctuation(std::string_view text, MarkSpacing marks = MarkSpacing::kClose);

/// Returns the spacing of most `!` and `?` in the sentences; kClose if there are none.
MarkSpacing mark_spacing_of(const std::vector<std::span<const std::string>>& sides);

/// Returns the code points of a UTF-8 text as views of `text`.
std::vector<std::string_view> split_characters(std::string_view text);

/// Joins words by single spaces.
std::string join_words(std::span<const std::string_view> words);

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
