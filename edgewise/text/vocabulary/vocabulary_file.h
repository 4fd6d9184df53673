// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/text/vocabulary/lookup_vocabulary.h"

namespace edgewise {

/// The contents of vocabulary.txt.
struct VocabularyFile {
  VocabularyKind kind = VocabularyKind::kWords;
  TextPreprocessing preprocessing;
  std::vector<std::string> tokens;
};

/// Returns the text of vocabulary.txt, the file of words (`kind=words`) and of characters (`kind=characters`): a header
/// line, then a token on each line, so that token 0 is on line 2:
///
///     #edgewise-vocabulary 2 kind=words size=906 separate_punctuation=true marks=close
///     <pad>
///
/// Control characters, spaces and backslashes are escaped as `\xHH`.
std::string write_vocabulary_file(const VocabularyFile& file);

/// Throws Error, with line number and text, for a file that write_vocabulary_file would not have written.
VocabularyFile parse_vocabulary_file(std::string_view bytes, std::string_view name);

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
