// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

namespace edgewise {

// A vocabulary is in one of the first three files. A mapped vocabulary may also need one of the others.
inline constexpr std::string_view kLookupFile = "vocabulary.txt";
inline constexpr std::string_view kSentencePieceFile = "vocabulary.model";
inline constexpr std::string_view kMappedFile = "vocabulary.json";
inline constexpr std::string_view kPiecesFile = "pieces.model";
inline constexpr std::string_view kTokenizerFile = "tokenizer.json";
inline constexpr std::array kVocabularyFiles = {kLookupFile, kSentencePieceFile, kMappedFile};

}  // namespace edgewise
