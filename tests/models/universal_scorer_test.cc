// SPDX-License-Identifier: Apache-2.0
#include "tests/models/universal_scorer.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/models/step_by_step.h"
#include "tests/models/universal_models.h"
#include "tests/nn/convert_parameters.h"
#include "tests/support/fill_new_tensors.h"

namespace edgewise {
namespace {

TEST(UniversalScorer, GivesTheLogProbabilitiesOfAFullForwardPassForAllOptions) {
  for (const TransformerOptions& options : all_kinds_of_universal_options()) {
    SCOPED_TRACE(description(options));
    const UniversalTransformer model = universal_model(options);
    StepByStep steps(model);
    grow_chains(steps);
    steps.expect_full_forward(model, 1e-6);  // scorers return fp32
  }
}

TEST(UniversalScorer, ReadsNoKeysOrValuesOfHaltedNodesThatWereDropped) {
  TransformerOptions options = universal_options();
  options.universal.halted_keys = HaltedKeys::kDropped;
  UniversalTransformer model = universal_model(options);
  convert_parameters(model, at::kFloat);
  const FillNewTensorsWithNan fill;
  StepByStep steps(model);
  steps.encode({kInputs[0]});
  NodeIndex parent = HypothesisTree::kRoot;
  for (std::int64_t length = 0; length < 24; ++length) {
    parent = steps.grow(0, parent, 2 + length % 9);
    steps.step();
  }

  steps.expect_full_forward(model, 1e-4);
}

TEST(UniversalScorer, DecodesEachBranchOfATreeAndSeveralLevelsInOneStep) {
  TransformerOptions options = universal_options();
  options.universal.transition = Transition::kSeparableConvolution;
  const UniversalTransformer model = universal_model(options);
  StepByStep steps(model);
  steps.encode(kInputs);
  const NodeIndex first = steps.grow(0, HypothesisTree::kRoot, 2);
  const NodeIndex second = steps.grow(0, first, 7);  // added in the same step
  steps.step();
  steps.grow(0, first, 4);
  steps.grow(0, second, 5);
  steps.grow(2, HypothesisTree::kRoot, 2);
  steps.step();

  steps.expect_full_forward(model, 1e-6);
}

TEST(UniversalScorer, ReplacesTheSentencesOfSlots) {
  for (const TransformerOptions& options : all_kinds_of_universal_options()) {
    const UniversalTransformer model = universal_model(options);
    StepByStep steps(model);
    grow_chains(steps);
    steps.encode({2, 0}, {{7, 6}, {9, 9, 10, 4, 5}});
    const NodeIndex first = steps.grow(0, HypothesisTree::kRoot, 2);
    steps.grow(2, HypothesisTree::kRoot, 2);
    steps.step();
    steps.grow(0, first, 8);
    steps.step();

    steps.expect_full_forward(model, 1e-6);
  }
}

TEST(UniversalScorer, RecordsAttentionThatSumsToOne) {
  const UniversalTransformer model = universal_model(universal_options());
  StepByStep steps(model, {.layer = -1, .head = 1});
  grow_chains(steps);
  for (const std::int64_t slot : {0, 1, 2}) {
    const std::vector<float>& weights = steps.attention(slot, 0);
    EXPECT_EQ(std::ssize(weights), std::ssize(kInputs[static_cast<std::size_t>(slot)]));
    EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 1.0, 1e-5);
  }
}

TEST(UniversalScorer, NamesALayerOrAHeadThatTheModelDoesNotHave) {
  const UniversalTransformer model = universal_model(universal_options());
  EXPECT_EQ(error_of([&] { UniversalScorer(model, {.layer = 0, .head = 1}); }), "no error");
  EXPECT_EQ(error_of([&] { UniversalScorer(model, {.layer = 1, .head = 1}); }),
            "UniversalScorer: the layer whose attention is shown is 1, the model has 1, counted from 0");
  EXPECT_EQ(error_of([&] { UniversalScorer(model, {.layer = -1, .head = 2}); }),
            "UniversalScorer: the head whose attention is shown is 2, the model has 2, counted from 0");
}

}  // namespace
}  // namespace edgewise
