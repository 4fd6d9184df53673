// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "edgewise/data/encoded_text.h"
#include "edgewise/options/data_options.h"
#include "edgewise/text/corpus/parallel_text.h"

namespace edgewise {

struct Splits {
  SentencePairs train;
  SentencePairs valid;
  SentencePairs test;
};

/// Makes sentence pairs: the input is random letters, separated by spaces; the output is the same letters copied,
/// reversed or sorted. The copy and sort tasks are those of the graph tutorial (docs/sources.md). Lengths are drawn
/// from N(length_mean, length_deviation), rounded, at least 1; letters are the first `symbols` of the alphabet.
///
/// A letter of the addition task is a column: the two digits of the same weight of two numbers, of which the longer one
/// has the drawn length and the other one at most as many digits. The least significant column comes first, and a
/// column of zeros last, so that the sum has a digit for each column: "72 08 00" (7 + 82) and "9 8 0" (89). Equal
/// options give equal pairs. Each split has its own random stream, so that its pairs do not depend on the sizes of the
/// other splits. Throws Error if the task is DataTask::kText.
Splits make_synthetic(const DataOptions& options);

/// Sentence pairs as text, with reports of the pairs that were left out.
struct Corpus {
  std::vector<TrainingText> train;  // one or several corpora
  SentencePairs valid;              // if empty, there is no validation
  SentencePairs test;               // if empty, there is no test

  /// Returns the number of training pairs. Also counts the pairs that encoding leaves out later, and ignores the
  /// weights of the corpora.
  std::int64_t num_training_pairs() const;
};

/// Opens the files of the text task, or makes the pairs of a synthetic task. Relative paths begin at `folder`, the
/// folder of the config file. Training text is indexed and stays in its files. Unusable training pairs are left out; an
/// unusable validation or test pair is an error, so that a score covers every pair. Also throws Error if there are no
/// training files, if the number of files does not fit the number of weights, and in the same cases as read_pairs.
Corpus load_corpus(const DataOptions& options, const std::filesystem::path& folder = {});

/// Returns about `max_pairs` evenly spaced pairs of all corpora together (0: every pair), for learning a vocabulary.
/// Rounds the number of pairs of each corpus up.
SentencePairs sample_pairs(const std::vector<TrainingText>& corpora, std::int64_t max_pairs);

}  // namespace edgewise
