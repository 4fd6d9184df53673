// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "edgewise/apps/model_directory.h"
#include "edgewise/data/encode.h"
#include "edgewise/search/search.h"

namespace edgewise {

/// The best output that a search finds for each input, without padding and unknown tokens. An empty input gets an
/// empty output.
std::vector<Tokens> search_outputs(const Transformer& transformer, std::span<const Tokens> inputs,
                                   const SearchOptions& options);

/// Sentences in, sentences out, in their order. Runs of white space alone give an empty sentence.
std::vector<std::string> translate_sentences(const TranslationModel& model, std::span<const std::string> sentences,
                                             const SearchOptions& options);

}  // namespace edgewise
