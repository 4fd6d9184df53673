// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/search/options.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// An output that a search found.
struct Hypothesis {
  Tokens tokens;                 // without begin and end
  double score = 0.0;            // log_probability normalised by length, plus the coverage penalty
  double log_probability = 0.0;  // sum over tokens and end token, with repetition penalty, without forced tokens
  std::vector<float> attention;  // if requested, [tokens + 1, input]: attention weights from which each token, and last
                                 // the end token, was predicted; zeros for the end token of an output without one
  std::vector<std::int64_t> ponder_steps;  // [tokens + 1], from models whose tokens halt
};

/// Returns for each output token the input token of highest attention weight, the first among equals. Throws Error for
/// a hypothesis without attention.
std::vector<std::int64_t> alignment(const Hypothesis& hypothesis);

/// A token that may follow a hypothesis.
struct NextToken {
  std::int64_t token = 0;
  double log_probability = 0.0;  // given the hypothesis
};

/// A hypothesis extended by one token.
struct Extension {
  std::size_t parent = 0;  // index of the hypothesis among the active hypotheses
  NextToken next;
  double log_probability = 0.0;  // sum over all tokens
};

/// Keeps the `count` best extensions. Among equals the earlier parent wins, then the likelier token (after a
/// hypothesis of log-probability -inf, all sums are equal), then the lower token.
class BestExtensions {
 public:
  explicit BestExtensions(std::size_t count) : count_(count) {}

  void add(const Extension& extension);

  /// Returns the extensions, best first.
  std::vector<Extension> take();

 private:
  std::size_t count_;
  std::vector<Extension> heap_;  // worst in front
};

/// Samples a token. Log-probabilities are divided by the temperature; then only the `top_k` most likely tokens remain,
/// of these the most likely that together have probability `top_p`, and of these the ones that are at least `min_p`
/// times as likely as the likeliest (Nguyen et al. 2024, "Turning up the heat"). Draws one random number. With a
/// temperature of 0, returns the most likely token, the lowest among equals, and draws none.
NextToken sample_token(std::vector<NextToken> next_tokens, const SamplingOptions& options, RandomStream& random);

}  // namespace edgewise
