// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/search/options.h"

namespace edgewise {

/// What checked options mean over a vocabulary: which tokens may follow, how long an output may get, what it is worth.
class Rules {
 public:
  Rules(const SearchOptions& options, std::int64_t vocabulary_size);

  const SearchOptions& options() const { return options_; }
  std::int64_t vocabulary_size() const { return static_cast<std::int64_t>(allowed_.size()); }

  /// Tokens of the longest and the shortest output allowed, the end token not counted.
  std::int64_t longest_output(std::int64_t input_length) const;
  std::int64_t shortest_output(std::int64_t input_length) const;

  /// [vocabulary]: which tokens may be produced at all.
  std::span<const std::uint8_t> allowed() const { return allowed_; }

  /// How many of the most likely continuations a hypothesis needs to be told; all of them: all_continuations().
  std::int64_t num_candidates() const;
  bool all_continuations() const;
  bool needs_attention() const { return options_.attention || options_.coverage_penalty > 0; }

  /// Of a hypothesis of `length` tokens, the end token counted. It grows with the length, so that the longest output
  /// allowed bounds what a living hypothesis can still be worth.
  double score(double log_probability, std::int64_t length) const;

  /// The coverage penalty of an output whose tokens, the end token among them, together gave these weights to the
  /// tokens of the input (Wu et al. 2016, eq. 14). At most 0.
  double coverage(std::span<const double> weights) const;

 private:
  SearchOptions options_;
  std::vector<std::uint8_t> allowed_;
};

}  // namespace edgewise
