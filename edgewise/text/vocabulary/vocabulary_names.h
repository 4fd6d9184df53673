// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>

namespace edgewise {

// A vocabulary is in one of the first three files. A mapped vocabulary may also need the fourth.
inline constexpr std::string_view kLookupFile = "vocabulary.txt";
inline constexpr std::string_view kSentencePieceFile = "vocabulary.model";
inline constexpr std::string_view kMappedFile = "vocabulary.json";
inline constexpr std::string_view kPiecesFile = "pieces.model";
inline constexpr std::array kVocabularyFiles = {kLookupFile, kSentencePieceFile, kMappedFile};

/// Returns the name of the only vocabulary file, after `prefix`, for which `has(name)` is true. Throws Error, beginning
/// with `error_prefix`, such as "load_vocabulary: runs/demo has", if there are none or several.
std::string only_vocabulary_file(std::string_view prefix, const std::function<bool(const std::string& name)>& has,
                                 std::string_view error_prefix);

}  // namespace edgewise
