// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tests/search/table_scorer.h"

namespace edgewise {

/// The outputs of BeamRules::kHuggingFace, best first.
struct PlainOutputs {
  std::vector<Hypothesis> outputs;
  double smallest_gap;  // smallest difference of two numbers that the search compared to rank them
};

/// Searches step by step, as generate() does: computes the log-probabilities of all tokens after each hypothesis,
/// changes them one option after another, and sorts all extensions. Greedy search is a loop of its own.
PlainOutputs plain_generate(const Table& table, const SearchInput& input, const SearchOptions& options);

}  // namespace edgewise
