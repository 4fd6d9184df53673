// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>

#include "edgewise/data/corpus.h"
#include "edgewise/distributed/process_group.h"
#include "edgewise/options/experiment.h"
#include "edgewise/text/corpus/document_text.h"
#include "edgewise/translate/vocabulary_files.h"

namespace edgewise {

/// Returns the vocabularies that `make` returns in process 0, which alone calls it: learning takes minutes. All
/// processes call this function. An Error of `make` becomes that of on_first_process.
Vocabularies share_vocabularies(ProcessGroup& processes, bool is_shared, const std::function<Vocabularies()>& make);

/// The vocabularies of the file or directory `vocabulary.file`.
struct GivenVocabularies {
  Vocabularies vocabularies;
  bool has_cases = true;  // else the cases are learned from the training text
};

/// Reads `options.file`, whose relative path begins at `folder`; nullopt if the options name no file. Throws Error as
/// read_vocabularies does, and for a file that contradicts the options: another case or kind, another algorithm or
/// number of pieces, more words or characters than `size`, or words with their marks although the options separate
/// them. An option that has its default value, except the cases, contradicts no file.
std::optional<GivenVocabularies> read_given_vocabularies(const VocabularySection& options,
                                                         const std::filesystem::path& folder);

/// Makes the vocabularies of a new run: the given ones or, without them, vocabularies that are learned from the
/// training text. Throws Error as build_vocabulary does.
Vocabularies make_vocabularies(const VocabularySection& options, const Corpus& corpus,
                               std::optional<GivenVocabularies> given = std::nullopt);

/// Does the same for a language model; both vocabularies are one.
Vocabularies make_vocabularies(const VocabularySection& options, const DocumentText& text,
                               std::optional<GivenVocabularies> given = std::nullopt);

/// Describes the options that have no effect, because the vocabulary is read from `options.file` instead of learned:
/// "vocabulary.min_count is 3, without effect, …"; empty if there are none.
std::string describe_unused_options(const VocabularySection& options);

/// Writes the vocabularies as a new directory, whole or not at all; errors begin with `caller`.
void write_vocabularies(const std::filesystem::path& directory, const Vocabularies& vocabularies, bool is_shared,
                        std::string_view caller);

/// Returns "one vocabulary of 4000 tokens" or "vocabularies of 906 and 1102 tokens".
std::string describe_vocabularies(const Vocabularies& vocabularies, bool is_shared);

}  // namespace edgewise
