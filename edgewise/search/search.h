// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "edgewise/search/hypothesis.h"
#include "edgewise/search/options.h"
#include "edgewise/search/scorer.h"
#include "edgewise/search/sentence_search.h"

namespace edgewise {

// Greedy, beam, sampling and scoring over anything that scores tokens.
//
// A beam: a hypothesis that ends takes its place in the beam along, so a sentence is over when `beam` of them have
// ended, and before that once no living one can get among the best that are wanted, even if all its further tokens were
// certain and it ran to the length limit: stopping then changes no result. At the limit nothing but the end token may
// follow, whose log-probability counts as always. Among equals the earlier hypothesis wins, then the lower token; a
// token of log-probability -inf is taken only where nothing else is left. A beam of 1 is greedy: always the most likely
// next token. Hypotheses compete for places by their log-probabilities; scores rank those that ended.
//
// Sampling: `n_best` outputs, drawn one apart from the other, and ranked by their scores, which are the model's.
//
// Scoring: the prefix is the whole output; its score is what a search without repetition penalty gives it.
//
// A prefix is produced whatever the options forbid, and its log-probability counts. What may follow it is restricted by
// the options; where they leave nothing, the end token follows. An empty input has the empty output of score 0, for
// which the model is not asked. The result for a sentence does not depend on the others, nor on where and when it is
// searched, provided that the scorer's does not.

/// How much is searched at once.
struct SearchCapacity {
  std::int64_t sentences = 32;
  std::int64_t tokens = 0;  // of all their inputs; one sentence may have more. 0: any number
};

/// Where inputs come from, and where outputs go.
class SearchQueue {
 public:
  virtual ~SearchQueue() = default;

  /// The next input. Nothing when there are no more; and while the search `is_busy` with others, when there is none
  /// yet.
  virtual std::optional<SearchInput> next(bool is_busy) = 0;

  /// What was found for an input, best first. Inputs end in any order.
  virtual void found(SearchInput input, std::vector<Hypothesis> best) = 0;
};

/// Searches until the queue has no more. As soon as a sentence ends, the next one takes its place.
///
/// Throws Error for options that do not fit each other or the scorer's vocabulary, and when the scorer gives what is no
/// log-probability.
void search(Scorer& scorer, SearchQueue& queue, const SearchOptions& options = {}, const SearchCapacity& capacity = {});

/// For each input the `n_best` best, best first; fewer when there are not so many. Samples of input i are drawn from
/// stream i.
std::vector<std::vector<Hypothesis>> search(Scorer& scorer, std::span<const Tokens> inputs,
                                            const SearchOptions& options = {}, const SearchCapacity& capacity = {});

/// The same, with all that an input can say; its number is its `id` here too.
std::vector<std::vector<Hypothesis>> search(Scorer& scorer, std::span<const SearchInput> inputs,
                                            const SearchOptions& options = {}, const SearchCapacity& capacity = {});

}  // namespace edgewise
