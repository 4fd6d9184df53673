// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "edgewise/search/scorer.h"

namespace edgewise {

/// An output that a search found.
struct Hypothesis {
  Tokens tokens;                 // without begin and end
  double score = 0.0;            // log_probability normalised by length, plus the coverage penalty
  double log_probability = 0.0;  // sum over tokens and end token, with repetition penalty, without forced tokens
  std::vector<float> attention;  // if requested, [tokens + 1, input]: attention weights from which each token, and last
                                 // the end token, was predicted; zeros for the end token of an output without one
  std::vector<std::int64_t> ponder_steps;  // [tokens + 1], from models with adaptive computation time
};

/// Returns for each output token the input token of highest attention weight, the first among equals. Throws Error for
/// a hypothesis without attention.
std::vector<std::int64_t> alignment(const Hypothesis& hypothesis);

}  // namespace edgewise
