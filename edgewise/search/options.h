// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "edgewise/base/fields.h"

namespace edgewise {

/// How an output is found.
enum class SearchKind {
  kBeam,      // the best that a beam finds; a beam of 1 is greedy
  kSampling,  // drawn token by token
  kScoring    // it is given: the prefix, whole
};

inline constexpr auto enum_names(SearchKind) {
  return std::array{EnumName<SearchKind>{SearchKind::kBeam, "beam"},
                    EnumName<SearchKind>{SearchKind::kSampling, "sampling"},
                    EnumName<SearchKind>{SearchKind::kScoring, "scoring"}};
}

/// What the log-probability of an output of n tokens, end included, is divided by.
enum class LengthNorm {
  kGnmt,     // ((5 + n) / 6) ^ length_penalty (Wu et al. 2016, eq. 14)
  kAverage,  // n
  kNone      // 1
};

inline constexpr auto enum_names(LengthNorm) {
  return std::array{EnumName<LengthNorm>{LengthNorm::kGnmt, "gnmt"},
                    EnumName<LengthNorm>{LengthNorm::kAverage, "average"},
                    EnumName<LengthNorm>{LengthNorm::kNone, "none"}};
}

/// Lengths count tokens without begin and end. Where the model knows nothing else, see `search`.
struct SearchOptions {
  SearchKind kind = SearchKind::kBeam;
  std::int64_t beam = 1;
  std::int64_t n_best = 1;  // outputs wanted of an input: of a beam at most its width; or so many samples

  LengthNorm length_norm = LengthNorm::kGnmt;
  double length_penalty = 0.6;
  double coverage_penalty = 0.0;

  // No output is longer than length_factor * input length + length_offset, nor than max_length.
  double length_factor = 2.0;
  std::int64_t length_offset = 10;
  std::int64_t max_length = 0;  // 0: as the two above say
  // Nor shorter than min_length_factor * input length + min_length, but where it may not be longer.
  double min_length_factor = 0.0;
  std::int64_t min_length = 0;

  std::int64_t no_repeat_ngram = 0;  // no sequence of so many tokens twice; 0: any
  double repetition_penalty = 1.0;   // the log-probability of a token that was produced before is multiplied by it

  double temperature = 1.0;
  std::int64_t top_k = 0;  // 0: all tokens
  double top_p = 1.0;      // the most likely tokens that together have this probability
  std::uint64_t seed = 1;

  bool early_stop = true;  // stop where going on changes nothing

  // Not of a config: they depend on the vocabulary, or on who asks.
  std::int64_t begin_token = 2;
  std::int64_t end_token = 3;
  std::vector<std::int64_t> never = {};  // tokens that are not produced: padding, unknown
  std::vector<std::int64_t> only = {};   // tokens that may be produced, beside the end token; empty: all
  bool attention = false;                // where each token of an output looked

  template <typename Self, typename Field>
  static void list_fields(Self& self, Field&& field) {
    field("kind", self.kind, "beam, sampling, or scoring of given outputs");
    field("beam", self.beam, "hypotheses kept alive a sentence; 1 is greedy", at_least(1));
    field("n_best", self.n_best, "outputs wanted of an input", at_least(1));
    field("length_norm", self.length_norm, "what a log-probability is divided by: gnmt, average (the length) or none");
    field("length_penalty", self.length_penalty, "gnmt: exponent of the length", at_least(0));
    field("coverage_penalty", self.coverage_penalty, "weight of the penalty for input left unseen", at_least(0));
    field("length_factor", self.length_factor, "longest output as a multiple of the input's length", at_least(0));
    field("length_offset", self.length_offset, "added to the longest output", at_least(0));
    field("max_length", self.max_length, "longest output whatever the input's length; 0: none", at_least(0));
    field("min_length_factor", self.min_length_factor, "shortest output as a multiple of the input's length",
          at_least(0));
    field("min_length", self.min_length, "added to the shortest output", at_least(0));
    field("no_repeat_ngram", self.no_repeat_ngram, "no sequence of so many tokens twice; 0: any", at_least(0));
    field("repetition_penalty", self.repetition_penalty,
          "factor of the log-probability of tokens that were produced before", at_least(1));
    field("temperature", self.temperature, "sampling: divides log-probabilities", above(0));
    field("top_k", self.top_k, "sampling: from so many of the most likely tokens; 0: all", at_least(0));
    field("top_p", self.top_p, "sampling: from the most likely tokens that together have this probability",
          above(0).at_most(1));
    field("seed", self.seed, "sampling: of the random numbers");
    field("early_stop", self.early_stop, "stop a sentence where going on changes nothing");
  }
};

/// Throws Error unless a search over a vocabulary of this size can follow the options.
void check_options(const SearchOptions& options, std::int64_t vocabulary_size);

}  // namespace edgewise
