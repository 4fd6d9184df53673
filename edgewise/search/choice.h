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
struct Follower {
  std::int64_t token = 0;
  double log_probability = 0.0;  // given the hypothesis
};

/// How a hypothesis goes on.
struct Choice {
  std::size_t parent = 0;  // place among the living
  std::int64_t token = 0;
  double log_probability = 0.0;  // of the hypothesis with the token
};

/// The best of what is offered. Among equals the earlier parent wins, then the lower token.
class BestChoices {
 public:
  explicit BestChoices(std::size_t count) : count_(count) {}

  void offer(const Choice& choice);

  /// Best first.
  std::vector<Choice> take();

 private:
  std::size_t count_;
  std::vector<Choice> heap_;  // the worst in front
};

/// Draws one of the followers, by their probabilities as the options shape them: log-probabilities are divided by the
/// temperature, then the most likely are kept, `top_k` and those of them that together have `top_p`. Draws one number.
Follower draw(std::vector<Follower> followers, const SearchOptions& options, RandomStream& random);

}  // namespace edgewise
