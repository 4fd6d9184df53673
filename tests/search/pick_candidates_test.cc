// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/pick_candidates.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

namespace edgewise {
namespace {

std::vector<Continuation> some_continuations(std::int64_t rows, std::int64_t vocabulary) {
  const auto chosen = *rc::gen::container<std::vector<std::pair<std::int64_t, std::int64_t>>>(
      rc::gen::pair(rc::gen::inRange<std::int64_t>(0, rows), rc::gen::inRange<std::int64_t>(0, vocabulary)));
  std::vector<Continuation> continuations;
  for (const auto& [row, token] : std::set(chosen.begin(), chosen.end())) continuations.push_back({row, token});
  return continuations;
}

RC_GTEST_PROP(PickCandidates, ReturnsTheMostLikelyAllowedTokensInOrder, ()) {
  const auto rows = *rc::gen::inRange<std::int64_t>(1, 4);
  const auto vocabulary = *rc::gen::inRange<std::int64_t>(1, 9);
  std::vector<float> values;
  for (std::int64_t i = 0; i < rows * vocabulary; ++i) {
    values.push_back(-0.5f * static_cast<float>(*rc::gen::inRange(0, 5)));  // equal values are common
    if (values.back() == -2.0f) values.back() = -std::numeric_limits<float>::infinity();
  }
  const auto allowed = *rc::gen::container<std::vector<std::uint8_t>>(vocabulary, rc::gen::inRange<std::uint8_t>(0, 2));
  const auto excluded = some_continuations(rows, vocabulary);
  const auto wanted = some_continuations(rows, vocabulary);
  const auto count = *rc::gen::inRange<std::int64_t>(0, vocabulary + 2);
  const std::vector<NewNode> nodes(static_cast<std::size_t>(rows), NewNode{0, -1, 0});

  StepResult result;
  pick_candidates(values,
                  {.nodes = nodes, .num_candidates = count, .allowed = allowed, .excluded = excluded, .wanted = wanted},
                  result);

  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<Candidate> expected;
    for (std::int64_t token = 0; token < vocabulary; ++token) {
      const bool is_excluded = std::ranges::any_of(
          excluded, [&](const Continuation& other) { return other.row == row && other.token == token; });
      if (is_excluded || allowed[token] == 0) continue;
      expected.push_back({static_cast<std::int32_t>(token), values[row * vocabulary + token]});
    }
    std::ranges::stable_sort(expected, std::ranges::greater(), &Candidate::log_probability);
    expected.resize(static_cast<std::size_t>(count), Candidate{-1, 0.0f});
    for (std::int64_t i = 0; i < count; ++i) {
      const Candidate& actual = result.candidates[row * count + i];
      RC_ASSERT(actual.token == expected[i].token);
      RC_ASSERT(actual.token < 0 || actual.log_probability == expected[i].log_probability);
    }
  }
  RC_ASSERT(result.wanted.size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    RC_ASSERT(result.wanted[i] == values[wanted[i].row * vocabulary + wanted[i].token]);
  }
}

}  // namespace
}  // namespace edgewise
