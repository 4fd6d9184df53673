// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "edgewise/text/vocabulary.h"

namespace edgewise {

// The vocabularies in a directory, a model's or one of theirs alone: vocabulary.txt or vocabulary.model, behind the
// prefix of its side, or behind none where both share one; and, where capitals are not kept, each side's case.txt.
inline constexpr std::string_view kInputPrefix = "input_";
inline constexpr std::string_view kOutputPrefix = "output_";

/// Of both sides, each with its side's case. Where they share one vocabulary, its tokens are the same.
struct Vocabularies {
  std::shared_ptr<const Vocabulary> input;
  std::shared_ptr<const Vocabulary> output;
};

/// Name to bytes.
std::map<std::string, std::string> vocabulary_files(const Vocabularies& vocabularies, bool is_shared);

/// Reads what vocabulary_files gave; errors begin with `caller`.
Vocabularies read_vocabularies(const std::filesystem::path& directory, bool is_shared, std::string_view caller);

}  // namespace edgewise
