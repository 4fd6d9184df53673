// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "edgewise/search/scorer.h"

namespace edgewise {

struct SearchOptions {
  std::int64_t beam = 1;          // hypotheses kept alive a sentence; 1 is greedy
  double length_penalty = 0.6;    // exponent of ((5 + length) / 6) that a score is divided by (Wu et al. 2016); 0: none
  std::int64_t begin_token = 2;
  std::int64_t end_token = 3;
  std::vector<std::int64_t> never;  // tokens that are not produced: padding, unknown

  // No output is longer than length_factor * input length + length_offset tokens, the end token not counted.
  double length_factor = 2.0;
  std::int64_t length_offset = 10;

  template <typename Self, typename Field>
  static void list_fields(Self& self, Field&& field) {
    field("beam", self.beam, "hypotheses kept alive a sentence; 1 is greedy");
    field("length_penalty", self.length_penalty, "exponent of the length that a score is divided by");
    field("length_factor", self.length_factor, "longest output as a multiple of the input's length");
    field("length_offset", self.length_offset, "added to the longest output");
  }
};

struct Hypothesis {
  Tokens tokens;       // without begin and end
  double score = 0.0;  // log-probability, end token included, divided by the length penalty
};

/// The best output found for each input, in order. Greedy for a beam of 1: always the most likely next token.
std::vector<Hypothesis> search(Scorer& scorer, std::span<const Tokens> inputs, const SearchOptions& options = {});

/// The `beam` best of each input, best first.
std::vector<std::vector<Hypothesis>> search_n_best(Scorer& scorer, std::span<const Tokens> inputs,
                                                   const SearchOptions& options = {});

}  // namespace edgewise
