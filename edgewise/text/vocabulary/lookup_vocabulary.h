// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
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

// Vocabularies of words, of characters and of bytes: a list of tokens, in which the tokens of a sentence are looked up.

/// Builds one vocabulary of the most frequent words or characters, as `options.kind` says, of all `sides`, each of
/// which is a list of sentences. `options.size` counts the special tokens, which come first. A vocabulary of bytes has
/// all 256, in their order, whatever the sentences.
std::shared_ptr<const Vocabulary> build_lookup_vocabulary(const std::vector<std::span<const std::string>>& sides,
                                                          const VocabularyOptions& options);

/// Parses the text of vocabulary.txt, which is called `name` in errors (lookup_file.h).
std::shared_ptr<const Vocabulary> parse_lookup_vocabulary(std::string_view bytes, std::string_view name);

}  // namespace edgewise
