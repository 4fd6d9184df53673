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
#include "tests/models/transformer_scorer.h"
#include "tests/runtime/scorer_checks.h"

namespace edgewise {
namespace {

using kernels::ForcedInstructionSet;
using kernels::InstructionSet;

void expect_agreement(const std::vector<TransformerOptions>& all_options) {
  for (const InstructionSet set : kernels::runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    for (const TransformerOptions& options : all_options) {
      SCOPED_TRACE(testing::Message() << kernels::instruction_set_name(set) << ", " << enum_name(options.preset) << ", "
                                      << enum_name(options.positions) << ", size " << options.size << ", vocabulary "
                                      << options.output_vocabulary << ", " << options.relation.front().front());
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

TEST(RuntimeModel, AgreesWithTheModelOverLibtorchForAllOptions) { expect_agreement(all_kinds_of_options()); }

TEST(RuntimeModel, AgreesWithTheModelOverLibtorchForAllPatterns) { expect_agreement(all_kinds_of_patterns()); }

TEST(RuntimeModel, ReturnsTheBestTokensThatAreAllowedAndNotExcluded) {
  const Transformer model = random_model(small_options(TransformerPreset::kTutorial));
  expect_best_tokens_that_are_allowed_and_not_excluded(runtime_of(model));
}

TEST(RuntimeModel, ReturnsTheLogProbabilitiesOfWantedTokensInTheirOrder) {
  TransformerOptions options = small_options(TransformerPreset::kChapter);
  options.input_vocabulary = options.output_vocabulary = 1100;
  expect_log_probabilities_of_wanted_tokens_in_their_order(runtime_of(random_model(options)));
}

class InEachPrecision : public testing::TestWithParam<RuntimePrecision> {};

constexpr std::int64_t kVocabulary = 700;

/// Compares the sentences of one batch with the same sentences in smaller batches, on one and two threads.
void expect_same_bits_in_any_batch(const RuntimeModel& runtime) {
  const std::vector<Tokens> inputs = random_inputs(40, kVocabulary);
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
  options.encoder_relation = {{"window 3", "global every 8"}};
  options.decoder_mixer = DecoderMixer::kSsru;
  expect_same_bits_in_any_batch(runtime_of(Transformer(options, 3), GetParam()));
  options.decoder_mixer = DecoderMixer::kAttention;
  options.relation = {{"window 2", "sinks 1"}, {"random 2"}};
  options.mirror_positions = options.log_scale = options.share_layers = true;
  expect_same_bits_in_any_batch(runtime_of(Transformer(options, 3), GetParam()));
  options.positions = PositionKind::kT5;
  options.cross_distance = true;
  expect_same_bits_in_any_batch(runtime_of(Transformer(options, 3), GetParam()));
}

TEST_P(InEachPrecision, ReplacesASentenceWithoutChangingTheOtherSlots) {
  const Transformer model = random_model(small_options(TransformerPreset::kTutorial));
  expect_that_a_replaced_sentence_leaves_the_other_slots(runtime_of(model, GetParam()));
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
