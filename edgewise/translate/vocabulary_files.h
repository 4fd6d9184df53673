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

// The vocabularies of a directory are in these files. PREFIX is input_ or output_; it is left out for a file that both
// sides share.
//
//     PREFIXvocabulary.txt, .model or .json   the tokens of a side
//     PREFIXpieces.model                      the SentencePiece model that a vocabulary.json may need
//     PREFIXtokenizer.json                    the tokenizer that a vocabulary.json may need instead
//     PREFIXcase.txt                          how a side treats capitals; its prefix is never left out
inline constexpr std::string_view kInputPrefix = "input_";
inline constexpr std::string_view kOutputPrefix = "output_";

/// The vocabularies of inputs and outputs, each with its side's treatment of capitals. If both sides share a
/// vocabulary, the two have the same tokens, but may treat capitals differently and, in a mapped vocabulary, split text
/// by different SentencePiece models.
struct Vocabularies {
  std::shared_ptr<const Vocabulary> input;
  std::shared_ptr<const Vocabulary> output;
};

/// Returns whether two vocabularies have the same files, apart from prefixes.
bool have_same_files(const Vocabulary& a, const Vocabulary& b);

/// Returns the bytes of each file by its name. `is_shared`: both sides have one vocabulary.
std::map<std::string, std::string> serialize_vocabularies(const Vocabularies& vocabularies, bool is_shared);

/// Parses the files of serialize_vocabularies(), as those of `directory` in messages, which begin with `caller`.
Vocabularies parse_vocabularies(const std::map<std::string, std::string>& bytes, bool is_shared,
                                const std::filesystem::path& directory, std::string_view caller);

/// Reads the files of serialize_vocabularies() in a directory; error messages begin with `caller`.
Vocabularies read_vocabularies(const ListedDirectory& files, bool is_shared, std::string_view caller);

}  // namespace edgewise
