// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "edgewise/data/corpus.h"
#include "edgewise/options/experiment.h"
#include "edgewise/translate/vocabulary_files.h"

namespace edgewise {

/// Makes the vocabularies of a new run: reads `options.file`, whose relative path begins at `folder`, or, where no file
/// is given, learns them from the training text. Throws Error as build_vocabulary and read_vocabularies do, and for a
/// file whose input_case or output_case differs from the options.
Vocabularies make_vocabularies(const VocabularySection& options, const Corpus& corpus,
                               const std::filesystem::path& folder = {});

/// Writes the vocabularies as a new directory, whole or not at all; errors begin with `caller`.
void write_vocabularies(const std::filesystem::path& directory, const Vocabularies& vocabularies, bool is_shared,
                        std::string_view caller);

/// Returns "one vocabulary of 4000 tokens" or "vocabularies of 906 and 1102 tokens".
std::string describe_vocabularies(const Vocabularies& vocabularies, bool is_shared);

}  // namespace edgewise
