// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>

namespace edgewise {

// Files of a vocabulary: one of the first three. The text of a mapped vocabulary may need the fourth.
inline constexpr std::string_view kLookupFile = "vocabulary.txt";
inline constexpr std::string_view kSentencePieceFile = "vocabulary.model";
inline constexpr std::string_view kMappedFile = "vocabulary.json";
inline constexpr std::string_view kPiecesFile = "pieces.model";
inline constexpr std::array kVocabularyFiles = {kLookupFile, kSentencePieceFile, kMappedFile};

/// Returns the name of the only vocabulary file, after `prefix`, for which `has(name)` is true. Throws Error, beginning
/// with `where_has`, such as "load_vocabulary: runs/demo has", if there are none or several.
std::string only_vocabulary_file(std::string_view prefix, const std::function<bool(const std::string& name)>& has,
                                 std::string_view where_has);

}  // namespace edgewise
