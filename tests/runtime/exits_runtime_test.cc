// SPDX-License-Identifier: Apache-2.0
// Compares the runtime's decoder with exits with the model over libtorch.
#include <gtest/gtest.h>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "tests/models/models_with_exits.h"
#include "tests/models/transformer_scorer.h"
#include "tests/runtime/scorer_checks.h"
#include "tests/support/all_of.h"

namespace edgewise {
namespace {

using kernels::ForcedInstructionSet;
using kernels::InstructionSet;

PonderHistogram layers_of(const std::vector<GrownStep>& steps) {
  PonderHistogram layers;
  for (const GrownStep& step : steps) {
    for (const std::int64_t count : step.result.ponder_steps) ++layers[count];
  }
  return layers;
}

TEST(RuntimeWithExits, AgreesWithTheModelOverLibtorchForAllOptions) {
  for (const InstructionSet set : kernels::runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    PonderHistogram layers;
    for (const TransformerOptions& options : all_kinds_that_halt()) {
      SCOPED_TRACE(testing::Message() << kernels::instruction_set_name(set) << ", " << enum_name(options.preset) << ", "
                                      << enum_name(options.positions) << ", " << enum_name(options.norm_placement));
      const Transformer model = random_model(options);
      const RuntimeModel runtime = runtime_of(model);
      for (const std::int64_t layer : {-1, 0, 2}) {
        TransformerScorer reference(model, {.layer = layer});

        const std::vector<GrownStep> found = grow_branches(*runtime.make_scorer({.layer = layer}), kInputs, 5);
        const std::vector<GrownStep> expected = grow_branches(reference, kInputs, 5);

        expect_same_results(found, expected);
        if (testing::Test::HasFatalFailure()) return;
        for (const auto& [count, nodes] : layers_of(found)) layers[count] += nodes;
      }
    }
    EXPECT_EQ(layers.size(), 3U);  // 1, 3 and 4
  }
}

TEST(RuntimeWithExits, ComputesASentenceToTheSameBitsInAnyBatchOnAnyNumberOfThreadsAndOnEveryInstructionSet) {
  constexpr std::int64_t kVocabulary = 300;
  TransformerOptions options = TransformerOptions::from_preset(TransformerPreset::kTutorial);
  options.size = 128;
  options.heads = 4;
  options.feed_forward = 256;
  options.encoder_layers = 1;
  options.decoder_layers = 4;
  options.exits = {.layers = {1, 2}, .threshold = 0.5};
  options.input_vocabulary = options.output_vocabulary = kVocabulary;
  const Transformer model(options, 3);
  const std::vector<Tokens> inputs = random_inputs(30, kVocabulary);
  const int threads_before = num_threads();
  for (const InstructionSet set : kernels::runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    for (const RuntimePrecision precision : all_of<RuntimePrecision>()) {
      SCOPED_TRACE(testing::Message() << kernels::instruction_set_name(set) << ", " << enum_name(precision));
      const RuntimeModel runtime = runtime_of(model, precision);
      set_num_threads(2);
      const std::vector<GrownStep> together = grow_branches(*runtime.make_scorer(), inputs, 5);
      EXPECT_EQ(layers_of(together).size(), 3U);
      set_num_threads(1);
      const auto scorer = runtime.make_scorer();
      for (const std::int64_t size : {1, 8, 9}) {
        const std::vector<Tokens> some(inputs.begin(), inputs.begin() + size);
        const std::vector<GrownStep> apart = grow_branches(*scorer, some, 5);
        for (std::int64_t slot = 0; slot < size; ++slot) {
          ASSERT_EQ(rows_of_slot(apart, slot, kVocabulary), rows_of_slot(together, slot, kVocabulary)) << slot;
        }
      }
    }
  }
  set_num_threads(threads_before);
}

TEST(RuntimeWithExits, ComputesTheTokensOfAPrefixInOneStepToTheBitsOfOneTokenAStep) {
  TransformerOptions options = all_kinds_that_halt().front();
  const RuntimeModel runtime = runtime_of(random_model(options));
  const std::vector<std::int64_t> slots = {0};
  const std::vector<Tokens> inputs = {kInputs[0]};
  const std::vector<NewNode> nodes = {{0, -1, 2}, {0, 0, 7}, {0, 1, 6}, {0, 2, 5}, {0, 3, 9}, {0, 4, 4}};
  StepResult at_once;
  const auto scorer = runtime.make_scorer();
  scorer->encode(slots, inputs);
  scorer->step({.nodes = nodes, .all = true}, at_once);

  scorer->encode(slots, inputs);
  StepResult one_by_one;
  for (const NewNode& node : nodes) {
    StepResult step;
    scorer->step({.nodes = std::span(&node, 1), .all = true}, step);
    one_by_one.log_probabilities.insert(one_by_one.log_probabilities.end(), step.log_probabilities.begin(),
                                        step.log_probabilities.end());
    one_by_one.ponder_steps.push_back(step.ponder_steps.at(0));
  }

  EXPECT_EQ(at_once.log_probabilities, one_by_one.log_probabilities);
  EXPECT_EQ(at_once.ponder_steps, one_by_one.ponder_steps);
}

TEST(RuntimeWithExits, ReportsNoStepsOfAModelInWhichNoTokenHalts) {
  TransformerOptions options = all_kinds_that_halt().front();
  options.exits.threshold = 1;
  const std::vector<GrownStep> found = grow_branches(*runtime_of(random_model(options)).make_scorer(), kInputs, 2);
  EXPECT_TRUE(layers_of(found).empty());
}

}  // namespace
}  // namespace edgewise
