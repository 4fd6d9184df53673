// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "edgewise/search/hypothesis.h"
#include "edgewise/search/options.h"

namespace edgewise {

/// The token that follows a hypothesis at the length limit.
enum class LastToken {
  kEnd,        // the end token; its log-probability counts
  kForcedEnd,  // the end token, with log-probability 0
  kAny         // any token
};

/// Details in which rules differ. The defaults are those of BeamRules::kEdgewise.
struct SearchConventions {
  double coverage_penalty = 0.0;  // weight
  bool counts_prefix = true;      // whether a prefix counts in the log-probability, and in the length of the score
  bool counts_begin = false;      // whether an output contains the begin token, as to repetitions
  bool repeats_end = true;        // whether the end token may follow, without penalty, a prefix that contains it
  bool drops_stuck = false;       // whether a hypothesis that no token may follow is dropped; if not, it ends
  bool renormalizes = false;      // whether the tokens that may follow a hypothesis have probabilities of sum 1
  LastToken last_token = LastToken::kEnd;
};

/// The extensions that a step keeps, best first.
struct KeptExtensions {
  std::vector<Extension> finished;
  std::vector<Extension> active;
};

/// The hypotheses of a sentence after a step, with at least one active. Lengths are those in scores.
struct BeamState {
  std::span<const Hypothesis> finished;  // best first
  std::size_t n_best;                    // number of hypotheses that the search returns
  double best_log_probability;           // the highest of an active hypothesis
  std::int64_t length;                   // length of hypotheses that finished in this step
  std::int64_t longest;                  // length of hypotheses that finish at the length limit
};

/// The rules that search options give for outputs: allowed tokens, lengths, scores, and the competition in a beam.
class SearchRules {
 public:
  virtual ~SearchRules() = default;

  const SearchOptions& options() const { return options_; }
  const SearchConventions& conventions() const { return conventions_; }
  std::int64_t vocabulary_size() const { return static_cast<std::int64_t>(allowed_.size()); }

  /// Returns one element per token of the vocabulary: 1 if all outputs may contain the token, otherwise 0.
  std::span<const std::uint8_t> allowed() const { return allowed_; }
  /// Returns the other tokens, ascending.
  std::span<const std::int64_t> forbidden() const { return forbidden_; }
  /// Returns those of the other tokens that an output may contain if its input permits it, once.
  std::span<const std::int64_t> once() const { return once_; }

  bool needs_attention() const { return options_.attention || conventions_.coverage_penalty > 0; }

  /// Returns the coverage penalty (Wu et al. 2016, eq. 14), at most 0. weights[i] is the attention weight of input
  /// token i, summed over the output tokens and the end token.
  double coverage_penalty(std::span<const double> weights) const;

  /// Returns the length of the longest hypothesis that needs another token, and of the shortest one that the end token
  /// may follow; without the begin token.
  virtual std::int64_t longest_output(std::int64_t input_length) const = 0;
  virtual std::int64_t shortest_output(std::int64_t input_length) const = 0;

  /// Returns how many candidates for the next token a scorer must return for each hypothesis; 0 for scoring given
  /// outputs, and if needs_all_continuations().
  virtual std::int64_t num_candidates() const = 0;

  /// Returns whether the search needs the log-probabilities of all tokens as the next token.
  virtual bool needs_all_continuations() const { return false; }

  /// Returns the score of a hypothesis of `length` tokens, the last one included. For a given log_probability the score
  /// does not fall when the length grows. Therefore the final score of an unfinished hypothesis is at most the score of
  /// its log_probability at the longest allowed length.
  virtual double score(double log_probability, std::int64_t length) const = 0;

  /// Returns how many extensions of active hypotheses the beam ranks in a step.
  virtual std::size_t num_ranked(std::size_t num_finished) const = 0;

  /// Divides the best num_ranked extensions, best first. At the length limit all extensions that are kept finish.
  virtual KeptExtensions keep(std::vector<Extension> best, bool is_at_limit) const = 0;

  /// Returns whether the search of a sentence ends although it has active hypotheses.
  virtual bool is_done(const BeamState& state) const = 0;

 protected:
  SearchRules(const SearchOptions& options, const SearchConventions& conventions, std::int64_t vocabulary_size);

 private:
  SearchOptions options_;
  SearchConventions conventions_;
  std::vector<std::uint8_t> allowed_;
  std::vector<std::int64_t> forbidden_;
  std::vector<std::int64_t> once_;
};

std::unique_ptr<const SearchRules> make_search_rules(const SearchOptions& options, std::int64_t vocabulary_size);

}  // namespace edgewise
