// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/language_model.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "tests/runtime/scorer_checks.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using kernels::ForcedInstructionSet;
using kernels::InstructionSet;
using Rows = std::vector<std::vector<float>>;

TransformerOptions as_language_model(TransformerOptions options) {
  options.kind = ModelKind::kLanguageModel;
  options.input_vocabulary = options.output_vocabulary;
  if (options.tying == Tying::kAll) options.tying = Tying::kOutput;
  return options;
}

LanguageModel random_language_model(const TransformerOptions& options) {
  LanguageModel model = randomised(LanguageModel(as_language_model(options), 1));
  convert_parameters(model, at::kFloat);
  return model;
}

Tokens random_text(std::int64_t length, std::int64_t vocabulary, std::uint64_t seed = 3) {
  RandomStream random(seed);
  Tokens text(static_cast<std::size_t>(length));
  for (std::int64_t& token : text) token = static_cast<std::int64_t>(random.next_below(vocabulary));
  return text;
}

/// Returns the log-probabilities of the token after each token of a text, by the model over libtorch.
Rows definition(const LanguageModel& model, Tokens text) {
  text.push_back(3);  // a label, which the logits do not depend on
  const TokenPair pair = {{}, text};
  Pass pass;
  const at::Tensor log_probabilities = model.forward(make_batch(std::span(&pair, 1)), pass).log_softmax(1);
  Rows rows;
  for (std::int64_t i = 0; i < log_probabilities.size(0); ++i) {
    const at::Tensor row = log_probabilities[i].contiguous().detach();
    rows.emplace_back(row.data_ptr<float>(), row.data_ptr<float>() + row.numel());
  }
  return rows;
}

/// Adds a node to each slot, and returns the log-probabilities of the tokens after them.
Rows step_all(Scorer& scorer, const std::vector<NewNode>& nodes) {
  StepRequest request;
  request.nodes = nodes;
  request.all = true;
  StepResult result;
  scorer.step(request, result);
  Rows rows;
  for (std::size_t row = 0; row < nodes.size(); ++row) {
    const auto begin = result.log_probabilities.begin() + static_cast<std::int64_t>(row) * scorer.vocabulary_size();
    rows.emplace_back(begin, begin + scorer.vocabulary_size());
  }
  return rows;
}

/// Begins slot i with the first begins[i] tokens of texts[i], and adds the others in steps, a token of each text that
/// has one. Returns the log-probabilities of the tokens after those that were added in steps, for each text.
std::vector<Rows> score_texts(Scorer& scorer, const std::vector<Tokens>& texts,
                              const std::vector<std::int64_t>& begins) {
  std::vector<std::int64_t> slots;
  std::vector<Tokens> inputs;
  std::int64_t steps = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    slots.push_back(static_cast<std::int64_t>(i));
    inputs.emplace_back(texts[i].begin(), texts[i].begin() + begins[i]);
    steps = std::max(steps, std::ssize(texts[i]) - begins[i]);
  }
  scorer.encode(slots, inputs);
  std::vector<Rows> rows(texts.size());
  for (std::int64_t t = 0; t < steps; ++t) {
    std::vector<NewNode> nodes;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::int64_t at = begins[i] + t;
      if (at >= std::ssize(texts[i])) continue;
      nodes.push_back({slots[i], static_cast<NodeIndex>(at - 1), texts[i][static_cast<std::size_t>(at)]});
    }
    const Rows found = step_all(scorer, nodes);
    for (std::size_t row = 0; row < nodes.size(); ++row) {
      rows[static_cast<std::size_t>(nodes[row].slot)].push_back(found[row]);
    }
  }
  return rows;
}

void expect_agreement(const TransformerOptions& options, std::int64_t length) {
  SCOPED_TRACE(testing::Message() << enum_name(options.preset) << ", " << enum_name(options.positions) << ", size "
                                  << options.size << ", vocabulary " << options.output_vocabulary << ", "
                                  << options.relation.front().front());
  const LanguageModel model = random_language_model(options);
  const Tokens text = random_text(length, options.output_vocabulary);
  const Rows expected = definition(model, text);
  const RuntimeModel runtime = runtime_of(model);
  const auto scorer = runtime.make_scorer();
  for (const std::int64_t begin : {std::int64_t{0}, std::int64_t{1}, length / 2}) {
    const Rows found = score_texts(*scorer, {text}, {begin}).front();
    ASSERT_EQ(std::ssize(found), length - begin);
    for (std::size_t i = 0; i < found.size(); ++i) {
      expect_near(found[i], expected[static_cast<std::size_t>(begin) + i], 1e-4f);
    }
  }
}

TEST(LanguageModelRuntime, AgreesWithTheModelOverLibtorchForAllOptions) {
  for (const InstructionSet set : kernels::runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    SCOPED_TRACE(kernels::instruction_set_name(set));
    for (TransformerOptions options : all_kinds_of_options()) {
      if (options.has_ssru() || options.mirror_positions || options.cross_distance) continue;
      options.max_positions = 23;  // as many as the text has tokens
      expect_agreement(options, 23);
    }
  }
}

TEST(LanguageModelRuntime, AgreesWithTheModelOverLibtorchForAllPatternsWithRelativePositions) {
  for (TransformerOptions options : all_kinds_of_patterns()) {
    options.encoder_relation = TransformerOptions().encoder_relation;
    for (const PositionKind positions :
         {PositionKind::kNone, PositionKind::kRotary, PositionKind::kAlibi, PositionKind::kT5}) {
      options.positions = positions;
      expect_agreement(options, 70);
    }
  }
}

TransformerOptions middle_sized_options(std::int64_t heads) {
  TransformerOptions options = TransformerOptions::from_preset(TransformerPreset::kTutorial);
  options.heads = heads;
  options.size = heads * 16;
  options.feed_forward = 96;
  options.decoder_layers = 2;
  options.input_vocabulary = options.output_vocabulary = 90;
  return options;
}

/// Requires the same bits of texts together, of each alone, and of each alone without a beginning.
void expect_same_bits(const RuntimeModel& runtime, const std::vector<Tokens>& texts,
                      const std::vector<std::int64_t>& begins) {
  const auto scorer = runtime.make_scorer();
  const std::vector<Rows> in_blocks = score_texts(*scorer, texts, begins);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    ASSERT_EQ(score_texts(*scorer, {texts[i]}, {begins[i]}).front(), in_blocks[i]) << "alone in blocks: " << i;
    Rows alone = score_texts(*scorer, {texts[i]}, {0}).front();
    alone.erase(alone.begin(), alone.begin() + begins[i]);
    ASSERT_EQ(alone, in_blocks[i]) << "alone, token by token: " << i;
  }
}

class LanguageModelInEachPrecision : public testing::TestWithParam<RuntimePrecision> {};

TEST_P(LanguageModelInEachPrecision, GivesTheSameBitsForABeginningInBlocksAndForTokensOneByOneAloneAndInAnyBatch) {
  for (const InstructionSet set : kernels::runnable_instruction_sets()) {
    SCOPED_TRACE(kernels::instruction_set_name(set));
    const ForcedInstructionSet forced(set);
    const bool is_slow = set == InstructionSet::kReference;
    const LanguageModel model(as_language_model(middle_sized_options(is_slow ? 2 : 3)), 3);
    const RuntimeModel runtime = runtime_of(model, GetParam());
    std::vector<Tokens> texts;
    for (const std::int64_t length : {1, 3, 255, 256, 257, 520}) {
      texts.push_back(random_text(is_slow ? std::min<std::int64_t>(length, 30) : length, 90, length));
    }
    std::vector<std::int64_t> begins;
    for (const Tokens& text : texts) begins.push_back(std::max<std::int64_t>(0, std::ssize(text) - 3));
    for (const int threads : {1, 2}) {
      SCOPED_TRACE(testing::Message() << threads << " threads");
      const NumThreadsScope scope(threads);
      expect_same_bits(runtime, texts, begins);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(LanguageModelInEachPrecision, GivesTheSameBitsAloneInBlocksAndInABatchForAllOptions) {
  for (TransformerOptions options : all_kinds_of_options()) {
    if (options.has_ssru() || options.mirror_positions || options.cross_distance) continue;
    options.max_positions = 40;
    SCOPED_TRACE(testing::Message() << enum_name(options.preset) << ", " << enum_name(options.positions) << ", size "
                                    << options.size << ", key heads " << options.num_key_value_heads());
    const RuntimeModel runtime = runtime_of(random_language_model(options), GetParam());
    std::vector<Tokens> texts;
    std::vector<std::int64_t> begins;
    for (const std::int64_t length : {1, 2, 17, 33, 40}) {
      texts.push_back(random_text(length, options.output_vocabulary, length));
      begins.push_back(length / 2);
    }
    expect_same_bits(runtime, texts, begins);
    if (HasFatalFailure()) return;
  }
}

TEST_P(LanguageModelInEachPrecision, SharesABeginningAmongTheBranchesOfATree) {
  const RuntimeModel runtime = runtime_of(LanguageModel(as_language_model(middle_sized_options(4)), 3), GetParam());
  const auto scorer = runtime.make_scorer();
  const Tokens text = random_text(40, 90);
  const std::vector<std::int64_t> slot = {0};
  scorer->encode(slot, std::vector<Tokens>{text});
  step_all(*scorer, {{0, 39, 5}, {0, 39, 6}, {0, 39, 7}});
  const Rows branches = step_all(*scorer, {{0, 40, 8}, {0, 41, 8}, {0, 42, 9}});
  for (std::int64_t branch = 0; branch < 3; ++branch) {
    Tokens path = text;
    path.push_back(5 + branch);
    path.push_back(branch == 2 ? 9 : 8);
    EXPECT_EQ(score_texts(*scorer, {path}, {41}).front().front(), branches[static_cast<std::size_t>(branch)]);
  }
}

INSTANTIATE_TEST_SUITE_P(, LanguageModelInEachPrecision,
                         testing::Values(RuntimePrecision::kFp32, RuntimePrecision::kBf16, RuntimePrecision::kInt8),
                         [](const auto& precision) { return std::string(enum_name(precision.param)); });

TEST(LanguageModelRuntime, LeavesTheSlotsUnchangedAfterAnErrorInABeginning) {
  TransformerOptions options = middle_sized_options(2);
  options.positions = PositionKind::kLearned;
  options.max_positions = 5;
  const RuntimeModel runtime = runtime_of(random_language_model(options));
  const auto scorer = runtime.make_scorer();
  const std::vector<std::int64_t> slots = {0, 1};
  scorer->encode(slots, std::vector<Tokens>{{2, 7}, {}});
  const Rows before = step_all(*scorer, {{0, 1, 8}, {1, HypothesisTree::kRoot, 2}});

  EXPECT_EQ(error_of([&] {
              scorer->encode(slots, std::vector<Tokens>{{2}, {2, 90}});
            }),
            "encode: token is 90, needs a number in [0, 90)");
  EXPECT_EQ(error_of([&] {
              scorer->encode(slots, std::vector<Tokens>{{2}, {2, 3, 4, 5, 6, 7}});
            }),
            "encode: a sentence has position 5, needs positions below model.max_positions, which is 5; shorten the "
            "sentence, for training by data.max_length");
  EXPECT_EQ(error_of([&] { scorer->encode(slots, std::vector<Tokens>{{2}}); }),
            "encode: 1 inputs have 2 slots, needs one each");
  EXPECT_EQ(step_all(*scorer, {{0, 1, 8}}).front(), before.front());
}

TEST(LanguageModelRuntime, RefusesToReturnCrossAttention) {
  const RuntimeModel runtime = runtime_of(random_language_model(middle_sized_options(2)));
  const auto scorer = runtime.make_scorer();
  scorer->encode(std::vector<std::int64_t>{0}, std::vector<Tokens>{{}});
  const std::vector<NewNode> nodes = {{0, HypothesisTree::kRoot, 2}};
  StepRequest request;
  request.nodes = nodes;
  request.attention = true;
  StepResult result;
  EXPECT_EQ(error_of([&] { scorer->step(request, result); }),
            "step: the request asks for cross-attention, needs a model that has it; a language model has none");
}

}  // namespace
}  // namespace edgewise
