// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/search/options.h"

namespace edgewise {

/// The rules that search options give for outputs: allowed tokens, lengths and scores.
class SearchRules {
 public:
  SearchRules(const SearchOptions& options, std::int64_t vocabulary_size);

  const SearchOptions& options() const { return options_; }
  std::int64_t vocabulary_size() const { return static_cast<std::int64_t>(allowed_.size()); }

  /// Return the length limits of outputs in tokens, without the end token.
  std::int64_t longest_output(std::int64_t input_length) const;
  std::int64_t shortest_output(std::int64_t input_length) const;

  /// Returns one element per token of the vocabulary: 1 if outputs may contain the token, otherwise 0.
  std::span<const std::uint8_t> allowed() const { return allowed_; }

  /// Returns how many candidates for the next token a scorer must return for each hypothesis; 0 for scoring given
  /// outputs, and if needs_all_continuations().
  std::int64_t num_candidates() const;

  /// Returns whether the search needs the log-probabilities of all tokens as the next token.
  bool needs_all_continuations() const;
  bool needs_attention() const { return options_.attention || options_.coverage_penalty > 0; }

  /// Returns the score of a hypothesis of `length` tokens, end token included. For a given log_probability the score
  /// does not fall when the length grows. Therefore the final score of an unfinished hypothesis is at most the score of
  /// its log_probability at the longest allowed length.
  double score(double log_probability, std::int64_t length) const;

  /// Returns the coverage penalty (Wu et al. 2016, eq. 14), at most 0. weights[i] is the attention weight of input
  /// token i, summed over the output tokens and the end token.
  double coverage_penalty(std::span<const double> weights) const;

 private:
  SearchOptions options_;
  std::vector<std::uint8_t> allowed_;
};

}  // namespace edgewise
