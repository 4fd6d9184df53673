// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/search.h"

#include <utility>

#include "edgewise/search/beam.h"
#include "edgewise/search/check_options.h"
#include "edgewise/search/greedy.h"
#include "edgewise/search/rules.h"

namespace edgewise {

namespace {

/// Asks `run` for the inputs that have tokens, and fills in what an empty one becomes.
template <typename Result, typename Run>
std::vector<Result> around_empty_inputs(std::span<const Tokens> inputs, const Result& of_empty, const Run& run) {
  std::vector<Result> results(inputs.size(), of_empty);
  std::vector<Tokens> filled;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].empty()) continue;
    filled.push_back(inputs[i]);
    places.push_back(i);
  }
  if (filled.empty()) return results;

  std::vector<Result> found = run(std::span<const Tokens>(filled));
  for (std::size_t i = 0; i < places.size(); ++i) results[places[i]] = std::move(found[i]);
  return results;
}

}  // namespace

std::vector<Hypothesis> search(Scorer& scorer, std::span<const Tokens> inputs, const SearchOptions& options) {
  check_options(options, scorer.vocabulary_size());
  const Rules rules(options, scorer.vocabulary_size());
  return around_empty_inputs(inputs, Hypothesis(), [&](std::span<const Tokens> filled) {
    if (options.beam == 1) return search_greedily(scorer, filled, rules);
    std::vector<Hypothesis> best;
    for (auto& ended : search_beam(scorer, filled, rules, {.width = options.beam, .num_wanted = 1})) {
      best.push_back(std::move(ended.front()));
    }
    return best;
  });
}

std::vector<std::vector<Hypothesis>> search_n_best(Scorer& scorer, std::span<const Tokens> inputs,
                                                   const SearchOptions& options) {
  check_options(options, scorer.vocabulary_size());
  const Rules rules(options, scorer.vocabulary_size());
  const std::vector<Hypothesis> only_empty = {Hypothesis()};
  return around_empty_inputs(inputs, only_empty, [&](std::span<const Tokens> filled) {
    return search_beam(scorer, filled, rules, {.width = options.beam, .num_wanted = options.beam});
  });
}

}  // namespace edgewise
