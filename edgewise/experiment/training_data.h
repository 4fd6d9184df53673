// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "edgewise/experiment/translation_task.h"
#include "edgewise/data/corpus.h"
#include "edgewise/data/encoded_text.h"
#include "edgewise/translate/vocabulary_files.h"
#include "edgewise/options/experiment.h"

namespace edgewise {

/// The training pairs of an experiment, which become tokens when they are read.
std::shared_ptr<const EncodedText> training_pairs(const Experiment& experiment, const Corpus& corpus,
                                                  const Vocabularies& vocabularies);

/// Of an evaluation split, every sentence counts, however long; without pairs, none.
EvaluationPairs evaluation_pairs(const Experiment& experiment, SentencePairs sentences,
                                 const Vocabularies& vocabularies);

/// Prints what was read of training text: what was left out, with the first places, and what was put right.
void print_account(const Corpus& corpus);

/// Prints how many pairs of training their tokens leave out or shorten.
void print_account(const EncodeAccount& account);

}  // namespace edgewise
