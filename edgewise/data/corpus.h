// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "edgewise/data/encoded_text.h"
#include "edgewise/options/data_options.h"
#include "edgewise/text/parallel_text.h"

namespace edgewise {

/// Sentence pairs as they were written, with the account of what was left out and why.
struct Corpus {
  std::vector<TrainingText> train;  // one or several
  SentencePairs valid;              // empty when there is none
  SentencePairs test;               // likewise

  /// Of training, before any becomes tokens, whatever their weights.
  std::int64_t num_training_pairs() const;
};

/// Looks through the files of the text task, or makes the letters of the others. Relative paths begin at `folder`, that
/// of the config file. Training text stays in its files. Of it, pairs that cannot be used are left out; in the other
/// splits they are an error, so that a score cannot hide them. Throws Error for no training files, for another number
/// of them than the weights need, and as read_pairs does.
Corpus load_corpus(const DataOptions& options, const std::filesystem::path& folder = {});

/// Training text to learn a vocabulary from: at most so many pairs of all corpora together (0: all), evenly spread.
SentencePairs sample_pairs(const std::vector<TrainingText>& corpora, std::int64_t most);

}  // namespace edgewise
