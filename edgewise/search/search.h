// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "edgewise/base/fields.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

struct SearchOptions {
  std::int64_t beam = 1;        // hypotheses kept alive a sentence; 1 is greedy
  double length_penalty = 0.6;  // exponent of ((5 + length) / 6) that a score is divided by (Wu et al. 2016); 0: none
  std::int64_t begin_token = 2;
  std::int64_t end_token = 3;
  std::vector<std::int64_t> never;  // tokens that are not produced: padding, unknown

  // No output is longer than length_factor * input length + length_offset tokens, the end token not counted.
  double length_factor = 2.0;
  std::int64_t length_offset = 10;

  template <typename Self, typename Field>
  static void list_fields(Self& self, Field&& field) {
    field("beam", self.beam, "hypotheses kept alive a sentence; 1 is greedy", at_least(1));
    field("length_penalty", self.length_penalty, "exponent of the length that a score is divided by", at_least(0));
    field("length_factor", self.length_factor, "longest output as a multiple of the input's length", at_least(0));
    field("length_offset", self.length_offset, "added to the longest output", at_least(0));
  }
};

struct Hypothesis {
  Tokens tokens;       // without begin and end
  double score = 0.0;  // log-probability, end token included, divided by ((5 + length) / 6) ^ length_penalty; the end
                       // token counts in the length
};

/// The best output found for each input, in order. Greedy for a beam of 1: always the most likely next token.
///
/// A hypothesis that ends takes its place in the beam along, so a sentence is over when `beam` of them have ended, and
/// before that once no living one can do better than the best that ended, even if all its further tokens were certain
/// and it ran to the length limit: stopping then changes no result. At the limit nothing but the end token may follow,
/// whose log-probability counts as always. Among equals the earlier hypothesis wins, then the lower token; a token of
/// log-probability -inf is taken only where nothing else is left. An empty input has the empty output of score 0, for
/// which the model is not asked. The result for a sentence does not depend on the others, provided that the scorer's
/// does not.
///
/// Throws Error for options that do not fit each other or the scorer's vocabulary, and when the scorer gives what is no
/// log-probability.
std::vector<Hypothesis> search(Scorer& scorer, std::span<const Tokens> inputs, const SearchOptions& options = {});

/// The `beam` best of each input, best first, all different; fewer when there are not so many. Its first are those of
/// `search`, for which it takes longer: every place in the beam comes to its end.
std::vector<std::vector<Hypothesis>> search_n_best(Scorer& scorer, std::span<const Tokens> inputs,
                                                   const SearchOptions& options = {});

}  // namespace edgewise
