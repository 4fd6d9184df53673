// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/convert/ctranslate2_settings.h"
#include "edgewise/translate/vocabulary_files.h"

namespace edgewise {

/// The tokens of a CTranslate2 model, by number.
struct Ctranslate2Tokens {
  std::vector<std::string> input;
  std::optional<std::vector<std::string>> output;  // nothing if both sides share a vocabulary

  bool are_shared() const { return !output; }
  std::vector<std::string>& of_output() { return output ? *output : input; }
};

struct Ctranslate2Vocabulary {
  Vocabularies vocabularies;
  bool end_input = false;
};

/// Reads shared_vocabulary, or source_vocabulary and target_vocabulary, as .json (a list) or .txt (a token on each
/// line). The unknown token stands after the others in a file that does not have it.
Ctranslate2Tokens read_ctranslate2_tokens(const std::filesystem::path& directory, const Ctranslate2Settings& settings,
                                          std::string_view caller);

/// Makes the vocabularies out of the tokens; each side has as many as the model. `added` is the number of a
/// token of outputs that CTranslate2 does not have, if there is one: the first input of the decoder, and no output.
///
/// A text is split by source.spm and target.spm, by sentencepiece.bpe.model or by sentencepiece.model, which may be in
/// the parent directory (Argos Translate); without such a file, a text consists of tokens. Models with tokens
/// `>>fra<<`, `__fr__` or `fra_Latn` have these languages. CTranslate2 expects inputs of multilingual and of Marian
/// models with their end token; `end_input` says so.
Ctranslate2Vocabulary make_ctranslate2_vocabulary(const std::filesystem::path& directory, Ctranslate2Tokens tokens,
                                                  const Ctranslate2Settings& settings,
                                                  std::optional<std::int64_t> added, std::string_view caller);

}  // namespace edgewise
