// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/greedy.h"

#include <algorithm>
#include <utility>

#include "edgewise/search/growth.h"

namespace edgewise {

namespace {

struct Line {
  std::int64_t sentence = 0;
  NodeIndex node = 0;
  double log_probability = 0.0;
};

std::int64_t most_likely(std::span<const std::int64_t> tokens, std::span<const float> log_probabilities) {
  return *std::max_element(tokens.begin(), tokens.end(),
                           [&](std::int64_t a, std::int64_t b) { return log_probabilities[a] < log_probabilities[b]; });
}

}  // namespace

std::vector<Hypothesis> search_greedily(Scorer& scorer, std::span<const Tokens> inputs, const Rules& rules) {
  Growth growth(scorer, inputs);
  std::vector<Line> lines;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(inputs.size()); ++i) {
    lines.push_back({i, growth.add(i, HypothesisTree::kRoot, rules.begin_token()), 0.0});
  }

  std::vector<Hypothesis> results(inputs.size());
  while (growth.step()) {
    std::vector<Line> going_on;
    for (const Line& line : lines) {
      const std::int64_t longest = rules.longest_output(static_cast<std::int64_t>(inputs[line.sentence].size()));
      const std::int64_t length = growth.length(line.node);
      const std::span<const float> log_probabilities = growth.log_probabilities(line.node);
      const std::int64_t token = most_likely(rules.continuations(length, longest), log_probabilities);
      const double log_probability = line.log_probability + log_probabilities[token];
      if (token == rules.end_token()) {
        results[line.sentence] = {growth.tokens(line.node), rules.score(log_probability, length + 1)};
      } else {
        going_on.push_back({line.sentence, growth.add(line.sentence, line.node, token), log_probability});
      }
    }
    lines = std::move(going_on);
  }
  return results;
}

}  // namespace edgewise
