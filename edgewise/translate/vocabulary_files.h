// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "edgewise/base/files/manifest.h"
#include "edgewise/text/vocabulary/sentence_case.h"
#include "edgewise/text/vocabulary/vocabulary.h"

namespace edgewise {

// Files of the vocabularies in a model or vocabulary directory: vocabulary.txt, vocabulary.model or vocabulary.json,
// after the prefix of its side, or without prefix if both sides share a vocabulary. The pieces.model of a
// vocabulary.json has the prefix of its side unless both sides have the same. A side that changes capitals before it
// splits a sentence into tokens also has a case.txt, always after the prefix of the side.
inline constexpr std::string_view kInputPrefix = "input_";
inline constexpr std::string_view kOutputPrefix = "output_";

/// The vocabularies of inputs and outputs, each with its side's treatment of capitals. If both sides share a
/// vocabulary, the two have the same tokens, but may treat capitals differently and, in a mapped vocabulary, split text
/// by different SentencePiece models.
struct Vocabularies {
  std::shared_ptr<const Vocabulary> input;
  std::shared_ptr<const Vocabulary> output;
};

/// Returns whether two vocabularies have the same files.
bool are_equal(const Vocabulary& a, const Vocabulary& b);

/// Returns the bytes of each file by its name.
std::map<std::string, std::string> vocabulary_files(const Vocabularies& vocabularies, bool is_shared);

/// Parses the files of vocabulary_files, as those of `directory` in messages, which begin with `caller`.
Vocabularies parse_vocabularies(const std::map<std::string, std::string>& bytes, bool is_shared,
                                const std::filesystem::path& directory, std::string_view caller);

/// Reads the files of vocabulary_files in a directory; error messages begin with `caller`.
Vocabularies read_vocabularies(const ListedDirectory& files, bool is_shared, std::string_view caller);

}  // namespace edgewise
