// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/convert/hugging_face_config.h"
#include "edgewise/convert/token_list_builder.h"
#include "edgewise/translate/vocabulary_files.h"

namespace edgewise {

/// The tokens of M2M100Tokenizer or NllbTokenizer, with the tokens of the languages after the others.
struct MultilingualTokens {
  std::vector<std::string> listed;  // by number
  std::vector<std::string> added;   // after the listed ones: `__fr__` of M2M-100, `fra_Latn` and `<mask>` of NLLB
  bool is_nllb = false;
  LanguagePlace place = LanguagePlace::kBeforeBoth;
};

/// Makes the list of the tokens of a model with `size` tokens. Errors begin with `where`.
TokenListBuilder multilingual_list(const MultilingualTokens& tokens, std::int64_t size, const SpecialTokens& special,
                                   std::string where);

/// The vocabularies of a model directory, and what its tokenizer does with sentences.
struct HuggingFaceVocabulary {
  Vocabularies vocabularies;
  bool is_shared = true;            // whether both sides have the same tokens
  std::string input_language = {};  // default languages; empty: none
  std::string output_language = {};
  std::optional<std::int64_t> longest = {};  // most tokens of an input, with those around the sentence
};

/// Reads the files of MarianTokenizer (vocab.json, target_vocab.json, source.spm, target.spm), M2M100Tokenizer
/// (vocab.json, sentencepiece.bpe.model) or NllbTokenizer (sentencepiece.bpe.model), and tokenizer_config.json. Tokens
/// of the model that the files do not name get names of their own, and no part in texts.
HuggingFaceVocabulary read_hugging_face_vocabulary(const std::filesystem::path& directory,
                                                   const HuggingFaceConfig& config, std::string_view caller);

}  // namespace edgewise
