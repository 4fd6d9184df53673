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

// Greedy search, beam search, sampling and scoring with any Scorer.
//
// Beam search: active hypotheses compete by log-probability; scores rank the finished ones. A finished hypothesis keeps
// occupying its part of the beam, so a sentence is done when `beam` hypotheses have finished. It is done earlier when
// no active hypothesis can still become one of the n_best, even if all its further tokens had probability 1 up to the
// length limit; this early stop changes no result. At the length limit only the end token may follow, and its
// log-probability counts. Among equals the earlier hypothesis wins, then the lower token. A token of log-probability
// -inf is chosen only if there is no other. A beam of 1 is greedy search.
//
// Sampling: draws `n_best` outputs independently and ranks them by score. Temperature, top_k and top_p do not change
// scores.
//
// Scoring: the prefix is the whole output; its score is the score in a search without repetition penalty.
//
// A prefix may contain tokens that the options forbid, and its log-probability counts. The options restrict the tokens
// after the prefix; if they allow none, the end token follows. An empty input has the empty output of score 0 and is
// not passed to the scorer. The result for a sentence is independent of the other sentences, the slot and the time of
// the search, provided that the scorer's results are.

/// The most tokens of a prefix.
inline constexpr std::int64_t kMaxPrefix = 10'000;

/// Limits the sentences that are searched at once.
struct SearchCapacity {
  std::int64_t sentences = 32;
  std::int64_t tokens = 0;  // input tokens of these sentences; a single sentence may have more; 0: no limit
};

/// Supplies inputs to a search and receives the results.
class SearchQueue {
 public:
  virtual ~SearchQueue() = default;

  /// Returns the next input; nullopt at the end, or if no input is available yet and the search `is_busy` with others.
  virtual std::optional<SearchInput> next(bool is_busy) = 0;

  /// Receives the hypotheses of an input, best first. Inputs finish in any order.
  virtual void put_result(SearchInput input, std::vector<Hypothesis> best) = 0;

  /// Returns whether the search shall end now, without results for the inputs that it has. Called before each step.
  virtual bool is_stopped() const { return false; }
};

/// Searches until the queue is at its end or stopped. As soon as a sentence is done, the next one gets its slot.
///
/// Throws Error for options that do not fit each other or the scorer's vocabulary, and if the scorer returns a number
/// that is no log-probability.
void search(Scorer& scorer, SearchQueue& queue, const SearchOptions& options = {}, const SearchCapacity& capacity = {});

/// Returns for each input at most `n_best` hypotheses, best first. Samples of input i come from random stream i.
std::vector<std::vector<Hypothesis>> search(Scorer& scorer, std::span<const Tokens> inputs,
                                            const SearchOptions& options = {}, const SearchCapacity& capacity = {});

/// Overload for inputs with prefixes. SearchInput::id is ignored: the id of inputs[i] is i.
std::vector<std::vector<Hypothesis>> search(Scorer& scorer, std::span<const SearchInput> inputs,
                                            const SearchOptions& options = {}, const SearchCapacity& capacity = {});

}  // namespace edgewise
