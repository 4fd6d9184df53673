// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/search/shortlist.h"
#include "edgewise/translate/lexical_table.h"
#include "edgewise/translate/model_paths.h"
#include "edgewise/translate/vocabulary_files.h"

namespace edgewise {

/// Options of a shortlist that is learned from sentence pairs.
struct LearnShortlistOptions {
  std::int64_t first = 100;
  std::int64_t best = 100;
  double threshold = 0.0001;
  std::int64_t sentences = 200'000;
  std::int64_t iterations = 5;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field("first", self.first, "number of the vocabulary's first tokens that all outputs may have",
          at_least(0).at_most(1e7));
    field("best", self.best, "most output tokens for an input token", at_least(1).at_most(1e6));
    field("threshold", self.threshold, "least probability that an input token is translated by an output token",
          at_least(0).at_most(1));
    field("sentences", self.sentences, "number of pairs to learn from, evenly spread over the corpus; 0: all",
          at_least(0).at_most(1e9));
    field("iterations", self.iterations, "steps of expectation maximisation, without an alignment",
          at_least(1).at_most(100));
  }
};

/// Returns the shortlist of a lexical table. The list of an input token has its `best` most probable output tokens (of
/// equal ones the lower) with at least the probability `threshold`, above all the token with the same text if there is
/// one, and instead of none the end token, because Marian refuses a file whose last list is empty.
ShortlistTable make_shortlist_table(const LexicalTable& table, const Vocabularies& vocabularies,
                                    const LearnShortlistOptions& options);

/// The files of sentence pairs: `inputs` and `outputs` have a sentence on each line. `alignment` may have a line of
/// links for each pair, such as `0-0 1-2`: tokens of the model, counted from 0, as the last field after a tab, as
/// `edgewise score-pairs --alignments` prints them. If it is empty, Model 1 aligns the pairs (lexical_table.h).
struct AlignedFiles {
  std::string inputs;
  std::string outputs;
  std::string alignment;
};

/// Writes a model directory with a shortlist that is learned from sentence pairs, instead of the model's own one if it
/// has one. Returns the shortlist. Throws Error, without writing anything, for a language model, for files of different
/// lengths, for links of tokens that a pair does not have, and for a destination that check_output_directory refuses.
ShortlistTable learn_shortlist(const std::filesystem::path& model, const AlignedFiles& files,
                               const std::filesystem::path& destination, const LearnShortlistOptions& options = {},
                               Overwrite overwrite = Overwrite::kNo);

}  // namespace edgewise
