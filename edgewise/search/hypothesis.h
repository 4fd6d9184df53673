// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "edgewise/search/scorer.h"

namespace edgewise {

/// An output, as a search found it.
struct Hypothesis {
  Tokens tokens;                 // without begin and end
  double score = 0.0;            // log_probability, normalised by the length, and the coverage penalty added
  double log_probability = 0.0;  // of the tokens and the end token, repetition penalty included
  std::vector<float> attention;  // if wanted, [tokens + 1, input]: where the model looked as it chose each token, the
                                 // end token last
  std::vector<std::int64_t> steps;  // of a model that thinks until it is done, [tokens + 1]: for how many steps, before
                                    // it chose each token
};

/// The input token that each token of an output looked at most, the first of equals; its attention is needed.
std::vector<std::int64_t> alignment(const Hypothesis& hypothesis);

}  // namespace edgewise
