// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/search/options.h"

namespace edgewise {

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

/// Keeps the `count` best extensions. Among equals the earlier parent wins, then the likelier token (behind a
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
/// and of these the most likely that together have probability `top_p`. Draws one random number.
NextToken sample_token(std::vector<NextToken> next_tokens, const SearchOptions& options, RandomStream& random);

}  // namespace edgewise
