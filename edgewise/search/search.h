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

// Greedy search, beam search, sampling and scoring with any Scorer, for many inputs at once.
//
// - Units: lengths are in tokens. A score is the sum of an output's log-probabilities, divided as the length norm says,
//   plus the coverage penalty, which is at most 0.
// - Guarantee: the result for a sentence is independent of the other sentences, the slot and the time of the search,
//   provided that the scorer's results are. Samples depend on SearchOptions::seed and SearchInput::id.
// - Threads: a search calls its scorer and its queue in the calling thread. Several searches may run at the same time,
//   each with its own scorer, on one queue if it allows that.
// - Cost: a step of the scorer for each token of an output, with at most `beam` rows for each sentence (in sampling,
//   `n_best`). The tokens with which an output begins take one step together.
// - Errors: Error for options, prefixes and scorers that do not fit. Exceptions of the scorer and the queue end it.
// - Sources: length and coverage penalty of Wu et al. 2016; length norm of Marian; generate() of transformers 5.
//
// Beam search: active hypotheses compete by log-probability; scores rank the finished ones. A finished hypothesis keeps
// occupying its part of the beam, so a sentence is done when `beam` hypotheses have finished. It is done earlier when
// no active hypothesis can still become one of the n_best, even if all its further tokens had probability 1 up to the
// length limit; this early stop changes no result. At the length limit only the end token may follow, and its
// log-probability counts; without `force_end`, hypotheses of as many tokens as the limit allows finish with whatever
// token they have. Among equals the earlier hypothesis wins, then the likelier token, then the lower token. A
// token of log-probability -inf is chosen only if there is no other. A beam of 1 is greedy search.
//
// With `stop_loops`, a beam search whose best output contains a loop (restrictions.h) ends, and the input is searched
// once more from the beginning: in this search, no phrase occurs more often in a row than one in the input. Its result
// is the result of the sentence, whatever it is. The first search ends as soon as each hypothesis contains a loop,
// which changes no result. Other kinds of search, and BeamRules::kHuggingFace, have no such check: samples keep their
// distribution.
//
// Beam search with BeamRules::kHuggingFace gives the outputs of generate() in transformers 5, for models of others
// whose results must not change:
// - Each step ranks the best 2 · beam extensions of the active hypotheses by log-probability. An extension by the end
//   token finishes if it is among the first `beam`, and is dropped if not. The best `beam` others stay active.
// - The score of a finished hypothesis is its log-probability / length ^ length_penalty. The length counts the forced
//   tokens and the end token, not the begin token. The `beam` best finished hypotheses are kept.
// - A sentence is done when it has `beam` finished hypotheses and the condition of `stop_when` holds.
// - max_length counts the begin and the end token (max_new_tokens=n of generate() is max_length n + 1). At max_length,
//   the end token follows with log-probability 0; without `force_end`, the extensions that rank first finish with
//   whatever token they have. min_length counts the begin token: the end token may follow min_length tokens.
// - no_repeat_ngram and repetition_penalty treat the begin token as part of the output, and restrict the end token too.
//   A hypothesis that no token may follow is dropped; if all are and none has finished, they end there.
// - The probability of excluded tokens (`never`, and those of min_length and no_repeat_ngram) is lost, unless
//   `renormalize` divides it among the others. This costs time in proportion to the number of excluded tokens.
// - A beam of 1 is greedy search: the likeliest token follows. Scores, which generate() does not give there, are those
//   of a wider beam.
// - Log-probabilities are added in double precision; generate() adds in single precision. Among equals, where
//   generate() leaves the order to torch.topk, the earlier hypothesis wins, then the lower token. Where generate()
//   fills up its n best outputs with repeated or unfinished ones, because there are no others, there are fewer outputs.
//
// Sampling: draws `n_best` outputs independently and ranks them by score. Temperature, top_k, top_p and min_p do not
// change scores.
//
// Scoring: the prefix is the whole output; its score is the score in a search without repetition penalty.
//
// Each output begins with SearchInput::forced, whose log-probability does not count, and then the prefix, whose
// log-probability counts unless it is -inf. Both count as tokens of the output, and may be tokens that the options
// forbid. The options restrict the tokens after them; if they allow none, the end token follows. An end token in a
// prefix is no repetition: the end token may follow without penalty. With BeamRules::kHuggingFace, a prefix is what
// generate() has in decoder_input_ids: neither its log-probability nor its length counts in the score, nor do those of
// the forced tokens before it.
//
// An empty input has the empty output of score 0 and is not passed to the scorer.

/// The most tokens of a prefix, forced tokens included.
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

  /// Receives the hypotheses of an input, best first: none if SearchInput::stop was set before the search of the input
  /// ended. Inputs finish in any order.
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

/// Overload for inputs with forced tokens and prefixes. SearchInput::id is ignored: the id of inputs[i] is i.
std::vector<std::vector<Hypothesis>> search(Scorer& scorer, std::span<const SearchInput> inputs,
                                            const SearchOptions& options = {}, const SearchCapacity& capacity = {});

}  // namespace edgewise
