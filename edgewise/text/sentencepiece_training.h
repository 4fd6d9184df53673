// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "edgewise/text/vocabulary.h"

namespace edgewise {

/// Silences what the SentencePiece library would print, for the whole process.
void silence_sentencepiece();

/// Learns a SentencePiece model and gives its file's bytes, with our special tokens in their places. The same sentences
/// and options give the same bytes, on any number of cores. Lines above 4192 bytes teach nothing. Throws Error when the
/// size is too large or too small for the sentences.
std::string train_sentencepiece(const std::vector<std::span<const std::string>>& sides,
                                const VocabularyOptions& options);

}  // namespace edgewise
