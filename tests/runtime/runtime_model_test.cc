// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/runtime_model.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/models/transformer_scorer.h"
#include "tests/runtime/runtime_models.h"

namespace edgewise {
namespace {

using kernels::ForcedInstructionSet;
using kernels::InstructionSet;

TEST(RuntimeModel, AgreesWithTheModelOverLibtorchForAllOptions) {
  for (const InstructionSet set : kernels::runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    for (const TransformerOptions& options : all_kinds_of_options()) {
      SCOPED_TRACE(testing::Message() << kernels::instruction_set_name(set) << ", " << enum_name(options.preset) << ", "
                                      << enum_name(options.positions) << ", size " << options.size << ", vocabulary "
                                      << options.output_vocabulary);
      const Transformer model = random_model(options);
      const RuntimeModel runtime = runtime_of(model);
      TransformerScorer reference(model);

      const std::vector<GrownStep> found = grow_branches(*runtime.make_scorer(), kInputs, 5);
      const std::vector<GrownStep> expected = grow_branches(reference, kInputs, 5);

      expect_same_results(found, expected);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

/// Repeats the nodes of `steps` with the other fields of `request_fields`.
std::vector<StepResult> repeat_steps(Scorer& scorer, const std::vector<Tokens>& inputs,
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

bool is_among(std::span<const Continuation> list, std::int64_t row, std::int64_t token) {
  return std::ranges::any_of(list, [&](const Continuation& c) { return c.row == row && c.token == token; });
}

TEST(RuntimeModel, ReturnsTheBestTokensThatAreAllowedAndNotExcluded) {
  for (const std::int64_t num_candidates : {1, 5, 11}) {
    const Transformer model = random_model(small_options(TransformerPreset::kTutorial));
    const RuntimeModel runtime = runtime_of(model);
    const auto scorer = runtime.make_scorer();
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

TEST(RuntimeModel, ReturnsTheLogProbabilitiesOfWantedTokensInTheirOrder) {
  TransformerOptions options = small_options(TransformerPreset::kChapter);
  options.input_vocabulary = options.output_vocabulary = 1100;
  const Transformer model = random_model(options);
  const RuntimeModel runtime = runtime_of(model);
  const auto scorer = runtime.make_scorer();
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
std::vector<std::vector<float>> rows_of_slot(const std::vector<GrownStep>& steps, std::int64_t slot,
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

class InEachPrecision : public testing::TestWithParam<RuntimePrecision> {};

constexpr std::int64_t kVocabulary = 700;

std::vector<Tokens> random_inputs(int count) {
  RandomStream random(/*seed=*/2);
  std::vector<Tokens> inputs;
  for (int i = 0; i < count; ++i) {
    Tokens& input = inputs.emplace_back(1 + random.next_below(30));
    for (std::int64_t& token : input) token = static_cast<std::int64_t>(random.next_below(kVocabulary));
  }
  return inputs;
}

/// Compares the sentences of one batch with the same sentences in smaller batches, on one and two threads.
void expect_same_bits_in_any_batch(const RuntimeModel& runtime) {
  const std::vector<Tokens> inputs = random_inputs(40);
  const int threads_before = num_threads();
  set_num_threads(2);
  const std::vector<GrownStep> together = grow_branches(*runtime.make_scorer(), inputs, 5);
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    const auto scorer = runtime.make_scorer();
    for (const std::int64_t size : {1, 8, 9, 15, 23}) {
      const std::vector<Tokens> some(inputs.begin(), inputs.begin() + size);
      const std::vector<GrownStep> apart = grow_branches(*scorer, some, 5);
      for (std::int64_t slot = 0; slot < size; ++slot) {
        ASSERT_EQ(rows_of_slot(apart, slot, kVocabulary), rows_of_slot(together, slot, kVocabulary))
            << "sentence " << slot << " of " << size << " on " << threads << " threads";
      }
    }
  }
  set_num_threads(threads_before);
}

TEST_P(InEachPrecision, ComputesASentenceToTheSameBitsInAnyBatchOnAnyNumberOfThreadsAndOnEveryInstructionSet) {
  TransformerOptions options = TransformerOptions::from_preset(TransformerPreset::kTutorial);
  options.size = 128;
  options.heads = 4;
  options.feed_forward = 256;
  options.encoder_layers = options.decoder_layers = 2;
  options.input_vocabulary = options.output_vocabulary = kVocabulary;
  const Transformer model(options, 3);
  for (const InstructionSet set : kernels::runnable_instruction_sets()) {
    SCOPED_TRACE(kernels::instruction_set_name(set));
    const ForcedInstructionSet forced(set);
    expect_same_bits_in_any_batch(runtime_of(model, GetParam()));
  }
}

TEST_P(InEachPrecision, ReplacesASentenceWithoutChangingTheOtherSlots) {
  const Transformer model = random_model(small_options(TransformerPreset::kTutorial));
  const RuntimeModel runtime = runtime_of(model, GetParam());
  const auto scorer = runtime.make_scorer();
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

  const auto fresh = runtime.make_scorer();
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

INSTANTIATE_TEST_SUITE_P(, InEachPrecision,
                         testing::Values(RuntimePrecision::kFp32, RuntimePrecision::kBf16, RuntimePrecision::kInt8),
                         [](const auto& precision) { return std::string(enum_name(precision.param)); });

// The tolerances are small, because the log-probabilities of this model spread over several units.
TEST(RuntimeModel, IsCloseToFp32InBf16AndInt8) {
  TransformerOptions options = TransformerOptions::from_preset(TransformerPreset::kTutorial);
  options.size = 64;
  options.feed_forward = 128;
  options.encoder_layers = options.decoder_layers = 2;
  options.input_vocabulary = options.output_vocabulary = 200;
  const Transformer model(options, 5);
  const std::vector<GrownStep> exact = grow_branches(*runtime_of(model).make_scorer(), kInputs, 5);
  const std::vector<GrownStep> bf16 =
      grow_branches(*runtime_of(model, RuntimePrecision::kBf16).make_scorer(), kInputs, 5);
  const std::vector<GrownStep> int8 =
      grow_branches(*runtime_of(model, RuntimePrecision::kInt8).make_scorer(), kInputs, 5);

  EXPECT_LT(mean_difference(bf16, exact), 0.02);
  EXPECT_LT(mean_difference(int8, exact), 0.04);
  EXPECT_GT(mean_difference(bf16, exact), 0);
  EXPECT_GT(mean_difference(int8, exact), 0);
}

}  // namespace
}  // namespace edgewise
