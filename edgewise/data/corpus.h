// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "edgewise/options/data_options.h"
#include "edgewise/text/parallel_text.h"

namespace edgewise {

/// Sentence pairs as they were written, each split with the account of what was left out of it and why.
struct Corpus {
  SentencePairs train;
  SentencePairs valid;  // empty when there is none
  SentencePairs test;   // likewise
};

/// Reads the files of the text task, or makes the letters of the others. Relative paths begin at `folder`, that of the
/// config file. Of training, pairs that cannot be used are left out; in the other splits they are an error, so that a
/// score cannot hide them. Throws Error for no training files and as read_pairs does.
Corpus load_corpus(const DataOptions& options, const std::filesystem::path& folder = {});

}  // namespace edgewise
