// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/gpu/model.h"

#include <gtest/gtest.h>

#include <vector>

#include "edgewise/kernels/loss/logits_tile.h"
#include "edgewise/kernels/loss/softmax_loss.h"
#include "tests/runtime/gpu/models.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

/// Returns the smallest model whose heads have kernels.
TransformerOptions options_for_gpus(TransformerPreset preset = TransformerPreset::kTutorial) {
  TransformerOptions options = small_options(preset);
  options.size = 16;
  return options;
}

/// Returns options that together reach every branch of the layers: all_kinds_of_options() without additive scores,
/// gates, SSRUs, grouped heads, relative and mirrored positions, and with heads of 8, 24 and 32 dimensions.
std::vector<TransformerOptions> all_kinds_of_options_for_gpus() {
  std::vector<TransformerOptions> kinds;
  for (TransformerOptions options : all_kinds_of_options()) {
    const bool is_relative = options.positions == PositionKind::kRotary || has_score_bias(options.positions);
    if (is_relative || options.mirror_positions || options.log_scale || options.key_value_heads != 0 ||
        options.has_ssru())
      continue;
    options.score = ScoreKind::kDot;
    options.feed_forward_gate = false;
    options.size = options.heads == 3 ? 72 : 16;
    kinds.push_back(options);
  }
  kinds.push_back(options_for_gpus());
  kinds.back().size = 64;
  return kinds;
}

TEST(GpuModel, AgreesWithTheRuntimeOfTheCpuForAllOptions) {
  for (const TransformerOptions& options : all_kinds_of_options_for_gpus()) {
    SCOPED_TRACE(testing::Message() << enum_name(options.preset) << ", " << enum_name(options.positions) << ", size "
                                    << options.size << ", vocabulary " << options.output_vocabulary);
    const Transformer model = random_model(options);
    const GpuModel on_gpu = gpu_model_of(model);
    const RuntimeModel on_cpu = runtime_of(model);

    expect_same_results(grow_branches(*on_gpu.make_scorer(), kInputs, 5),
                        grow_branches(*on_cpu.make_scorer(), kInputs, 5));
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(GpuModel, RecordsTheAttentionOfALayerAndAHead) {
  const Transformer model = random_model(options_for_gpus());
  const GpuModel on_gpu = gpu_model_of(model);
  const RuntimeModel on_cpu = runtime_of(model);
  for (const CrossHeads& heads : {CrossHeads{.layer = 0, .head = -1}, CrossHeads{.layer = 1, .head = 1}}) {
    expect_same_results(grow_branches(*on_gpu.make_scorer(heads), kInputs, 3),
                        grow_branches(*on_cpu.make_scorer(heads), kInputs, 3));
  }
}

TEST(GpuModel, ReturnsTheBestTokensThatAreAllowedAndNotExcluded) {
  expect_best_tokens_that_are_allowed_and_not_excluded(gpu_model_of(random_model(options_for_gpus())));
}

TEST(GpuModel, ReturnsTheLogProbabilitiesOfWantedTokensInTheirOrder) {
  TransformerOptions options = options_for_gpus(TransformerPreset::kChapter);
  options.input_vocabulary = options.output_vocabulary = 1100;
  expect_log_probabilities_of_wanted_tokens_in_their_order(gpu_model_of(random_model(options)));
}

TEST(GpuModel, ReplacesASentenceWithoutChangingTheOtherSlots) {
  for (const RuntimePrecision precision : {RuntimePrecision::kFp32, RuntimePrecision::kBf16}) {
    expect_that_a_replaced_sentence_leaves_the_other_slots(gpu_model_of(random_model(options_for_gpus()), precision));
  }
}

TEST(GpuModel, ReturnsMoreCandidatesThanItsKernelSelects) {
  constexpr std::int64_t kCount = kernels::kMaxTopTokens + 1;
  TransformerOptions options = options_for_gpus();
  options.input_vocabulary = options.output_vocabulary = 100;
  const GpuModel model = gpu_model_of(random_model(options));
  const auto scorer = model.make_scorer();
  const std::vector<GrownStep> steps = grow_branches(*scorer, kInputs, 2);
  const std::vector<Continuation> wanted = {{0, 7}, {1, 99}};
  StepRequest request;
  request.num_candidates = kCount;
  request.wanted = wanted;

  const std::vector<StepResult> results = repeat_steps(*scorer, kInputs, steps, request);

  for (std::size_t t = 0; t < steps.size(); ++t) {
    const auto& all = steps[t].result.log_probabilities;
    for (std::size_t row = 0; row < steps[t].nodes.size(); ++row) {
      std::vector<float> expected(all.begin() + static_cast<std::int64_t>(row) * 100,
                                  all.begin() + static_cast<std::int64_t>(row + 1) * 100);
      std::ranges::sort(expected, std::greater());
      for (std::int64_t i = 0; i < kCount; ++i) {
        EXPECT_NEAR(results[t].candidates[row * kCount + i].log_probability, expected[i], 1e-5f);
      }
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_NEAR(results[t].wanted[i], all[wanted[i].row * 100 + wanted[i].token], 1e-5f);
    }
  }
}

TEST(GpuModel, ComputesASentenceToTheSameBitsInAnyBatch) {
  constexpr std::int64_t kVocabulary = 71;
  for (const std::int64_t size : {16, 64}) {  // lists of edges and intervals
    TransformerOptions options = options_for_gpus();
    options.size = size;
    options.input_vocabulary = options.output_vocabulary = kVocabulary;
    const GpuModel model = gpu_model_of(random_model(options), RuntimePrecision::kBf16);
    const std::vector<Tokens> inputs = random_inputs(12, kVocabulary);
    const std::vector<GrownStep> together = grow_branches(*model.make_scorer(), inputs, 4);
    const auto scorer = model.make_scorer();
    for (const std::int64_t count : {1, 5, 9}) {
      const std::vector<Tokens> some(inputs.begin(), inputs.begin() + count);
      const std::vector<GrownStep> apart = grow_branches(*scorer, some, 4);
      for (std::int64_t slot = 0; slot < count; ++slot) {
        ASSERT_EQ(rows_of_slot(apart, slot, kVocabulary), rows_of_slot(together, slot, kVocabulary))
            << "sentence " << slot << " of " << count << ", size " << size;
      }
    }
  }
}

/// Returns the log-probabilities of a sentence in slot 1, which is encoded after another one of `before` tokens, and
/// before a third one, or alone.
std::vector<std::vector<float>> rows_after(const GpuModel& model, const Tokens& sentence, std::size_t before) {
  const auto scorer = model.make_scorer();
  if (before > 0) {
    scorer->encode(std::vector<std::int64_t>{0, 1, 2}, std::vector<Tokens>{Tokens(before, 9), sentence, {4, 5, 6}});
  } else {
    scorer->encode(std::vector<std::int64_t>{1}, std::vector<Tokens>{sentence});
  }
  std::vector<std::vector<float>> rows;
  for (const NewNode& node : {NewNode{1, HypothesisTree::kRoot, 2}, NewNode{1, 0, 7}}) {
    StepRequest request;
    request.nodes = std::span(&node, 1);
    request.all = true;
    StepResult result;
    scorer->step(request, result);
    rows.push_back(result.log_probabilities);
  }
  return rows;
}

TEST(GpuModel, ComputesASentenceToTheSameBitsBehindAnyOthers) {
  const Tokens sentence = random_inputs(1, 71, /*seed=*/5)[0];
  for (const RuntimePrecision precision : {RuntimePrecision::kFp32, RuntimePrecision::kBf16}) {
    for (const std::int64_t head_size : {8, 32, 64, 96, 128}) {
      TransformerOptions options = options_for_gpus();
      options.size = options.heads * head_size;
      options.input_vocabulary = options.output_vocabulary = 71;
      const GpuModel model = gpu_model_of(random_model(options), precision);
      const std::vector<std::vector<float>> alone = rows_after(model, sentence, 0);
      for (const std::size_t before : {1, 13, 50}) {
        ASSERT_EQ(rows_after(model, sentence, before), alone) << "heads of " << head_size << ", after " << before;
      }
    }
  }
}

TEST(GpuModel, IsCloseToFp32InBf16) {
  TransformerOptions options = options_for_gpus();
  options.size = 64;
  options.input_vocabulary = options.output_vocabulary = 200;
  const Transformer model(options, 5);
  const std::vector<GrownStep> exact = grow_branches(*gpu_model_of(model).make_scorer(), kInputs, 5);
  const std::vector<GrownStep> bf16 =
      grow_branches(*gpu_model_of(model, RuntimePrecision::kBf16).make_scorer(), kInputs, 5);
  EXPECT_LT(mean_difference(bf16, exact), 0.02);
  EXPECT_GT(mean_difference(bf16, exact), 0);
}

TEST(GpuModel, AnErrorLeavesTheSlotsUnchanged) {
  const GpuModel model = gpu_model_of(random_model(options_for_gpus()));
  const auto scorer = model.make_scorer();
  const std::vector<GrownStep> expected = grow_branches(*scorer, kInputs, 2);
  const std::vector<std::int64_t> slot = {0};
  EXPECT_EQ(error_of([&] { scorer->encode(slot, std::vector<Tokens>{{11}}); }),
            "encode: token is 11, needs a number in [0, 11)");
  EXPECT_EQ(error_of([&] { scorer->encode(slot, std::vector<Tokens>{{}}); }),
            "encode: input 0 is empty, needs at least one token");

  const std::vector<NewNode> nodes = {{0, 0, 5}};
  StepRequest request;
  request.nodes = nodes;
  request.all = true;
  StepResult after_errors, result;
  scorer->step(request, after_errors);
  const auto fresh = model.make_scorer();
  grow_branches(*fresh, kInputs, 2);
  fresh->step(request, result);
  EXPECT_EQ(after_errors.log_probabilities, result.log_probabilities);

  const std::vector<NewNode> unknown = {{3, HypothesisTree::kRoot, 2}};
  request.nodes = unknown;
  EXPECT_EQ(error_of([&] { scorer->step(request, result); }),
            "step: slot is 3, needs one that holds an input; call encode first");
}

TEST(GpuModel, StepsWithoutNodesHaveEmptyResults) {
  const GpuModel model = gpu_model_of(random_model(options_for_gpus()));
  const auto scorer = model.make_scorer();
  scorer->encode({}, {});
  StepRequest request;
  request.num_candidates = 3;
  request.all = true;
  StepResult result;
  scorer->step(request, result);
  EXPECT_TRUE(result.candidates.empty());
  EXPECT_TRUE(result.log_probabilities.empty());
}

TEST(GpuModel, RefusesModelsForWhichThereAreNoKernels) {
  const auto refusal = [](const TransformerOptions& options, RuntimePrecision precision = RuntimePrecision::kFp32) {
    const Transformer model = random_model(small_options(TransformerPreset::kTutorial));
    return error_of([&] { GpuModel(options, parameter_file(model), "m.safetensors", {.precision = precision}); });
  };
  TransformerOptions options = options_for_gpus();
  options.score = ScoreKind::kAdditive;
  EXPECT_EQ(refusal(options), "GpuModel: model.score is additive, needs dot; translate on the CPU");
  options = options_for_gpus();
  options.positions = PositionKind::kRotary;
  EXPECT_EQ(refusal(options),
            "GpuModel: model.positions is rotary, needs none or position vectors; translate on the CPU");
  options = options_for_gpus();
  options.decoder_mixer = DecoderMixer::kSsru;
  EXPECT_EQ(refusal(options), "GpuModel: model.decoder_mixer is ssru, needs attention; translate on the CPU");
  options = options_for_gpus();
  options.log_scale = true;
  EXPECT_EQ(refusal(options), "GpuModel: model.log_scale is true, needs false; translate on the CPU");
  options = options_for_gpus();
  options.mirror_positions = true;
  EXPECT_EQ(refusal(options), "GpuModel: model.mirror_positions is true, needs false; translate on the CPU");
  options = options_for_gpus();
  options.exits = {.layers = {1}, .threshold = 0.5};
  EXPECT_EQ(refusal(options),
            "GpuModel: model.exits.threshold is 0.5, needs 1; translate on the CPU, or set exit_threshold to 1");
  options = options_for_gpus();
  options.key_value_heads = 1;
  EXPECT_EQ(refusal(options), "GpuModel: model.key_value_heads is 1, needs 0; translate on the CPU");
  options = options_for_gpus();
  options.feed_forward_gate = true;
  EXPECT_EQ(refusal(options), "GpuModel: model.feed_forward_gate is true, needs false; translate on the CPU");
  options = options_for_gpus();
  options.kind = ModelKind::kUniversal;
  EXPECT_EQ(refusal(options), "GpuModel: model.kind is universal, needs transformer; run the model on the CPU");
  options = options_for_gpus();
  options.relation = {{"window 4"}};
  EXPECT_EQ(refusal(options), "GpuModel: model.relation has patterns, needs causal; translate on the CPU");
  options = options_for_gpus();
  options.encoder_relation = {{"window 4"}, {"complete"}};
  EXPECT_EQ(refusal(options), "GpuModel: model.encoder_relation has patterns, needs complete; translate on the CPU");
  EXPECT_EQ(refusal(small_options(TransformerPreset::kTutorial)),
            "GpuModel: heads have 4 dimensions, needs a multiple of 8 up to 128; translate on the CPU");
  EXPECT_EQ(refusal(options_for_gpus(), RuntimePrecision::kInt8), "GpuModel: precision is int8, needs fp32 or bf16");
}

}  // namespace
}  // namespace edgewise
