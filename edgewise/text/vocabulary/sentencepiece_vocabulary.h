// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/text/vocabulary/vocabulary.h"

namespace edgewise {

/// Turns off the log output of the SentencePiece library for the whole process.
void silence_sentencepiece();

/// Trains a SentencePiece model with the special tokens of vocabulary.h. The bytes of its file depend on sentences and
/// options only, not on the number of cores. Ignores lines above 4192 bytes. Throws Error if the size is too large or
/// too small for the sentences.
std::shared_ptr<const Vocabulary> build_sentencepiece_vocabulary(const std::vector<std::span<const std::string>>& sides,
                                                                 const VocabularyOptions& options);

/// Checks the model (sentencepiece_check.h), then loads it with the SentencePiece library.
std::shared_ptr<const Vocabulary> parse_sentencepiece_vocabulary(std::string_view bytes, std::string_view name);

}  // namespace edgewise
