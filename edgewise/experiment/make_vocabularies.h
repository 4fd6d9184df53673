// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "edgewise/data/corpus.h"
#include "edgewise/translate/vocabulary_files.h"
#include "edgewise/options/experiment.h"

namespace edgewise {

/// The vocabularies of a new run: those of `options.file`, whose relative path begins at `folder`, or else learned from
/// training text. Throws Error as build_vocabulary and read_vocabularies do, and for a file whose case is another than
/// the options say.
Vocabularies make_vocabularies(const VocabularySection& options, const Corpus& corpus,
                               const std::filesystem::path& folder = {});

/// "one vocabulary of 4000 tokens", "vocabularies of 906 and 1102 tokens".
std::string vocabularies_in_words(const Vocabularies& vocabularies, bool is_shared);

}  // namespace edgewise
