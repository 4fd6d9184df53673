// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/text/vocabulary/vocabulary.h"

namespace edgewise {

/// The special tokens around the tokens of a sentence.
struct SentenceFrame {
  std::vector<std::int64_t> before = {};
  std::vector<std::int64_t> after = {};
};

/// Names of the languages of a sentence pair; empty: not given.
struct PairLanguages {
  std::string input = {};
  std::string output = {};
};

/// An input without the code of its output language, and its frame.
struct FramedInput {
  std::string_view text;
  SentenceFrame frame;
};

/// Throws Error, beginning with `caller`, if the vocabularies need another `end_input`, have no such languages, or have
/// no place for them. A language that is not given is no error.
void check_sentence_options(const Vocabulary& input, const Vocabulary& output, bool end_input,
                            const PairLanguages& languages, std::string_view caller);

/// Returns the tokens around an input. In a vocabulary with LanguagePlace::kOutputBeforeInput, a text may begin with
/// the code of its output language, `>>fra<<`: the code is taken out of the text and replaces the language given. A
/// code that is no language of the vocabulary is text if a language is given, or else the unknown token, as in
/// Transformers' MarianTokenizer. Throws Error, beginning with `caller`, for a language that is missing or unknown.
FramedInput frame_input(const Vocabulary& vocabulary, std::string_view text, bool end_input,
                        const PairLanguages& languages, std::string_view caller);

/// Returns the tokens of languages that each output begins with: one token or none. Throws Error as frame_input does.
std::vector<std::int64_t> output_beginning(const Vocabulary& vocabulary, std::string_view language,
                                           std::string_view caller);

/// Returns the tokens around an output: the begin token and output_beginning, and the end token.
SentenceFrame frame_output(const Vocabulary& vocabulary, std::string_view language, std::string_view caller);

}  // namespace edgewise
