// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "edgewise/base/random.h"
#include "tests/runtime/runtime_models.h"

// Tests that the scorers of every kind of model pass. Model is a class like RuntimeModel.
namespace edgewise {

/// Repeats the nodes of `steps` with the other fields of `request_fields`.
inline std::vector<StepResult> repeat_steps(Scorer& scorer, const std::vector<Tokens>& inputs,
                                            const std::vector<GrownStep>& steps, const StepRequest& request_fields) {
  std::vector<std::int64_t> slots;
  for (std::size_t i = 0; i < inputs.size(); ++i) slots.push_back(static_cast<std::int64_t>(i));
  scorer.encode(slots, inputs);
  std::vector<StepResult> results;
  for (const GrownStep& step : steps) {
    StepRequest request = request_fields;
    request.nodes = step.nodes;
    scorer.step(request, results.emplace_back());
  }
  return results;
}

inline bool is_among(std::span<const Continuation> list, std::int64_t row, std::int64_t token) {
  return std::ranges::any_of(list, [&](const Continuation& c) { return c.row == row && c.token == token; });
}

/// `model` has 11 tokens.
template <class Model>
void expect_best_tokens_that_are_allowed_and_not_excluded(const Model& model) {
  for (const std::int64_t num_candidates : {1, 5, 11}) {
    const auto scorer = model.make_scorer();
    const std::vector<GrownStep> steps = grow_branches(*scorer, kInputs, 4);
    const std::vector<std::uint8_t> allowed = {0, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1};
    const std::vector<Continuation> excluded = {{0, 3}, {0, 4}, {2, 7}};
    StepRequest request;
    request.num_candidates = num_candidates;
    request.allowed = allowed;
    request.excluded = excluded;

    const std::vector<StepResult> results = repeat_steps(*scorer, kInputs, steps, request);

    for (std::size_t t = 0; t < steps.size(); ++t) {
      for (std::size_t row = 0; row < steps[t].nodes.size(); ++row) {
        const float* all = steps[t].result.log_probabilities.data() + row * 11;
        std::vector<std::int32_t> order;
        for (std::int32_t token = 0; token < 11; ++token) {
          if (allowed[token] != 0 && !is_among(excluded, static_cast<std::int64_t>(row), token)) order.push_back(token);
        }
        std::ranges::stable_sort(order, std::greater(), [&](std::int32_t token) { return all[token]; });
        for (std::int64_t i = 0; i < num_candidates; ++i) {
          const Candidate& found = results[t].candidates[row * num_candidates + i];
          if (i >= std::ssize(order)) {
            ASSERT_EQ(found.token, -1);
          } else {
            ASSERT_EQ(found.token, order[i]);
            ASSERT_EQ(found.log_probability, all[order[i]]);
          }
        }
        ASSERT_TRUE(results[t].log_probabilities.empty());
        ASSERT_TRUE(results[t].attention.empty());
      }
    }
  }
}

/// `model` has 1100 tokens.
template <class Model>
void expect_log_probabilities_of_wanted_tokens_in_their_order(const Model& model) {
  const auto scorer = model.make_scorer();
  const std::vector<GrownStep> steps = grow_branches(*scorer, kInputs, 3);
  const std::vector<Continuation> continuations = {{0, 0}, {0, 600}, {2, 1023}, {2, 1024}, {2, 1099}};
  StepRequest request;
  request.wanted = continuations;

  const std::vector<StepResult> results = repeat_steps(*scorer, kInputs, steps, request);

  for (std::size_t t = 0; t < steps.size(); ++t) {
    ASSERT_EQ(results[t].wanted.size(), continuations.size());
    for (std::size_t i = 0; i < continuations.size(); ++i) {
      const auto& [row, token] = continuations[i];
      EXPECT_EQ(results[t].wanted[i], steps[t].result.log_probabilities[row * 1100 + token]);
    }
    EXPECT_TRUE(results[t].candidates.empty());
  }
}

/// Returns the log-probabilities of the nodes in one slot, in the order of the steps.
inline std::vector<std::vector<float>> rows_of_slot(const std::vector<GrownStep>& steps, std::int64_t slot,
                                                    std::int64_t vocabulary) {
  std::vector<std::vector<float>> rows;
  for (const GrownStep& step : steps) {
    for (std::size_t row = 0; row < step.nodes.size(); ++row) {
      if (step.nodes[row].slot != slot) continue;
      const auto begin = step.result.log_probabilities.begin() + static_cast<std::int64_t>(row) * vocabulary;
      rows.emplace_back(begin, begin + vocabulary);
    }
  }
  return rows;
}

inline std::vector<Tokens> random_inputs(int count, std::int64_t vocabulary, std::uint64_t seed = 2) {
  RandomStream random(seed);
  std::vector<Tokens> inputs;
  for (int i = 0; i < count; ++i) {
    Tokens& input = inputs.emplace_back(1 + random.next_below(30));
    for (std::int64_t& token : input) token = static_cast<std::int64_t>(random.next_below(vocabulary));
  }
  return inputs;
}

/// `model` has 11 tokens.
template <class Model>
void expect_that_a_replaced_sentence_leaves_the_other_slots(const Model& model) {
  const auto scorer = model.make_scorer();
  const std::vector<GrownStep> before = grow_branches(*scorer, kInputs, 3);

  const std::vector<std::int64_t> slot = {1};
  const std::vector<Tokens> input = {kInputs[0]};
  scorer->encode(slot, input);
  const std::vector<NewNode> nodes = {{0, 3, 6}, {1, HypothesisTree::kRoot, 2}, {2, 4, 6}};
  StepRequest request;
  request.nodes = nodes;
  request.all = true;
  StepResult result;
  scorer->step(request, result);

  const auto fresh = model.make_scorer();
  const std::vector<GrownStep> again = grow_branches(*fresh, kInputs, 3);
  StepResult alone;
  const std::vector<NewNode> others = {nodes[0], nodes[2]};
  request.nodes = others;
  fresh->step(request, alone);
  EXPECT_TRUE(std::equal(alone.log_probabilities.begin(), alone.log_probabilities.begin() + 11,
                         result.log_probabilities.begin()));
  EXPECT_TRUE(std::equal(alone.log_probabilities.begin() + 11, alone.log_probabilities.end(),
                         result.log_probabilities.begin() + 22));
  EXPECT_TRUE(std::equal(before[0].result.log_probabilities.begin(), before[0].result.log_probabilities.begin() + 11,
                         result.log_probabilities.begin() + 11));
}

}  // namespace edgewise
