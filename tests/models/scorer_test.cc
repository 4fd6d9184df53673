// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/models/small_models.h"
#include "tests/models/step_by_step.h"
#include "tests/models/transformer_scorer.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

TEST(TransformerScorer, GivesTheLogProbabilitiesOfAFullForwardPass) {
  for (const TransformerPreset preset : all_presets()) {
    SCOPED_TRACE(enum_name(preset));
    const Transformer exact = small_model(small_options(preset));
    const Transformer single(small_options(preset), 1);

    StepByStep in_double(exact);
    grow_chains(in_double);
    StepByStep in_float(single);
    grow_chains(in_float);

    in_double.expect_full_forward(exact, 1e-6);  // scorers return fp32
    in_float.expect_full_forward(single, 1e-5);
  }
}

TEST(TransformerScorer, GivesTheLogProbabilitiesOfAFullForwardPassWithPatterns) {
  TransformerOptions options = small_options(TransformerPreset::kTutorial);
  options.relation = {{"window 2", "sinks 1"}, {"dilated 2 by 2"}};
  options.encoder_relation = {{"random 2"}, {"window 1"}};
  const Transformer model = small_model(options);
  StepByStep steps(model);
  grow_chains(steps);

  steps.expect_full_forward(model, 1e-6);
}

TEST(TransformerScorer, DecodesEachBranchOfATree) {
  TransformerOptions options = small_options(TransformerPreset::kTutorial);
  for (const ScoreKind score : {ScoreKind::kDot, ScoreKind::kAdditive}) {
    options.score = score;
    const Transformer model = small_model(options);
    StepByStep steps(model);
    steps.encode(kInputs);

    const NodeIndex first = steps.grow(0, HypothesisTree::kRoot, 2);
    const NodeIndex other = steps.grow(2, HypothesisTree::kRoot, 2);
    steps.step();
    const NodeIndex left = steps.grow(0, first, 5);
    const NodeIndex right = steps.grow(0, first, 6);
    steps.grow(2, other, 5);
    steps.step();
    steps.grow(0, right, 7);  // the hypotheses change their order
    steps.grow(0, right, 8);
    steps.grow(0, left, 7);
    steps.step();
    steps.grow(0, left, 9);  // a node whose hypothesis had no child in the last step
    steps.step();

    steps.expect_full_forward(model, 1e-6);
  }
}

TEST(TransformerScorer, ComputesSeveralLevelsOfATreeInOneStep) {
  const Transformer model = small_model(small_options(TransformerPreset::kChapter));
  StepByStep steps(model);
  steps.encode(kInputs);

  const NodeIndex first = steps.grow(1, HypothesisTree::kRoot, 2);
  steps.grow(1, steps.grow(1, first, 5), 6);
  steps.step();
  steps.step();  // without new nodes

  steps.expect_full_forward(model, 1e-6);
}

TEST(TransformerScorer, ReplacesTheSentenceOfASlotAndKeepsTheOthers) {
  const Transformer model = small_model(small_options(TransformerPreset::kTutorial));
  StepByStep steps(model);
  steps.encode(kInputs);
  std::vector<NodeIndex> last;
  for (const std::int64_t slot : {0, 1, 2}) last.push_back(steps.grow(slot, HypothesisTree::kRoot, 2));
  steps.step();
  for (const Tokens& next : std::vector<Tokens>{{6, 7}, {4}, {4, 5, 6, 7, 8, 9}, {8, 8, 8}}) {
    steps.encode({1}, {next});  // longer and shorter than the sentence before
    last[1] = HypothesisTree::kRoot;
    for (const std::int64_t token : {2, 5, 6}) {
      for (const std::int64_t slot : {0, 1, 2}) {
        NodeIndex& node = last[static_cast<std::size_t>(slot)];
        node = steps.grow(slot, node, token);
      }
      steps.step();
    }
    steps.expect_full_forward(model, 1e-6);
  }
}

TEST(TransformerScorer, RecordsTheAttentionOfTheChosenHeads) {
  const Transformer model = small_model(small_options(TransformerPreset::kTutorial));
  const auto attention_of = [&](CrossHeads recorded) {
    StepByStep steps(model, recorded);
    steps.encode(kInputs);
    steps.grow(0, steps.grow(0, HypothesisTree::kRoot, 2), 7);
    steps.step();
    return steps.attention(0, 1);
  };

  const std::vector<float> all = attention_of({});
  EXPECT_EQ(all, attention_of({.layer = 1}));
  EXPECT_NE(all, attention_of({.layer = 0}));
  const std::vector<float> first = attention_of({.head = 0});
  const std::vector<float> second = attention_of({.head = 1});
  float sum = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_NEAR(all[i], (first[i] + second[i]) / 2, 1e-6);
    sum += all[i];
  }
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_NE(first, second);
}

TEST(TransformerScorer, ReturnsOnlyTheRequestedResults) {
  const Transformer model = small_model(small_options(TransformerPreset::kTutorial));
  TransformerScorer scorer(model);
  const auto step = [&](bool all) {
    scorer.encode(std::vector<std::int64_t>{0}, std::vector<Tokens>{{4, 5, 6}});
    const std::vector<NewNode> nodes = {{0, HypothesisTree::kRoot, 2}};
    const std::vector<Continuation> wanted = {{0, 4}};
    StepResult result;
    scorer.step({.nodes = nodes, .num_candidates = 1, .wanted = wanted, .all = all}, result);
    return result;
  };
  const StepResult all = step(true);
  const StepResult few = step(false);

  EXPECT_EQ(few.wanted.at(0), all.log_probabilities.at(4));
  EXPECT_EQ(few.candidates.at(0).log_probability, std::ranges::max(all.log_probabilities));
  EXPECT_TRUE(few.log_probabilities.empty());
  EXPECT_TRUE(few.attention.empty());
}

TEST(TransformerScorer, AllowsTrainingAfterDecoding) {
  const Transformer model = small_model(small_options(TransformerPreset::kTutorial));
  StepByStep steps(model);
  grow_chains(steps);

  // Decoding filled the table of position encodings in inference mode; autograd must be able to use the table.
  Pass pass = Pass::inference();
  model.forward(small_batch(), pass).sum().backward();

  for (const NamedTensor& named : parameters(model)) EXPECT_TRUE(named.tensor.grad().defined()) << named.name;
}

TEST(TransformerScorer, NamesArgumentsThatDoNotFit) {
  const Transformer model = small_model(small_options(TransformerPreset::kTutorial));
  TransformerScorer scorer(model);
  StepResult result;
  const auto step = [&](NewNode node) {
    const std::vector<NewNode> nodes = {node};
    scorer.step({.nodes = nodes}, result);
  };

  EXPECT_EQ(error_of([&] { step({0, -1, 2}); }), "TransformerScorer::step: slot 0 has no input, call encode first");
  scorer.encode(std::vector<std::int64_t>{1}, std::vector<Tokens>{{4}});
  EXPECT_EQ(error_of([&] { step({0, -1, 2}); }), "TransformerScorer::step: slot 0 has no input, call encode first");
  EXPECT_EQ(error_of([&] {
              step({1, 0, 2});
            }),
            "TransformerScorer::step: the parent of a node is 0, but its sentence has 0 nodes, counted from 0");
  EXPECT_EQ(error_of([&] { scorer.encode(std::vector<std::int64_t>{-1}, std::vector<Tokens>{{4}}); }),
            "TransformerScorer::encode: a slot is -1, needs 0 or more");
  EXPECT_EQ(error_of([&] { scorer.encode(std::vector<std::int64_t>{}, std::vector<Tokens>{{4}}); }),
            "TransformerScorer::encode: there are 0 slots for 1 inputs, needs as many");
  EXPECT_EQ(error_of([&] { TransformerScorer(model, {.layer = 2}); }),
            "TransformerScorer: the layer whose attention is shown is 2, the model has 2, counted from 0");
  EXPECT_EQ(error_of([&] { TransformerScorer(model, {.head = -2}); }),
            "TransformerScorer: the head whose attention is shown is -2, the model has 2, counted from 0");
  step({1, -1, 2});
}

TEST(Scorers, KeepTheInputsOfTheirSlotsWhenEncodingFails) {
  for (const ModelKind kind : {ModelKind::kTransformer, ModelKind::kUniversal}) {
    SCOPED_TRACE(enum_name(kind));
    TransformerOptions options = small_options(TransformerPreset::kTutorial);
    options.kind = kind;
    expect_errors_leave_slots(*make_model(options, 1));
  }
}

TEST(RowBuffer, HoldsTheRowsWrittenAndReallocatesOnlyWhenFull) {
  RowBuffer buffer;
  std::vector<at::Tensor> expected;
  int reallocations = 0;
  const void* memory = nullptr;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const at::Tensor rows = random_tensor({2, 2, 3}, i);
    const auto number = static_cast<NodeIndex>(expected.size());
    expected.push_back(rows[1]);
    expected.push_back(rows[0]);
    buffer.write(std::vector<NodeIndex>{number + 1, number}, rows);
    if (buffer.first(1).data_ptr() != memory) ++reallocations;
    memory = buffer.first(1).data_ptr();
  }
  buffer.write({}, random_tensor({0, 2, 3}, 0));
  const at::Tensor again = random_tensor({2, 2, 3}, 1000);
  buffer.write(std::vector<NodeIndex>{3, 4}, again);
  expected[3] = again[0];
  expected[4] = again[1];

  EXPECT_TRUE(at::equal(buffer.first(200), at::stack(expected)));
  EXPECT_LE(reallocations, 9);  // 200 rows, doubled from 2
}

RC_GTEST_PROP(IntervalAllocator, AllocatesDisjointIntervalsAndEndsAtTheEndOfTheLast, ()) {
  IntervalAllocator allocator;
  std::vector<Interval> out;
  for (const int choice : *rc::gen::container<std::vector<int>>(rc::gen::inRange(-6, 7))) {
    if (choice < 0 && !out.empty()) {
      const std::size_t which = static_cast<std::size_t>(-choice) % out.size();
      allocator.free(out[which]);
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
      out.push_back(allocator.allocate(std::max(choice, 0)));
      RC_ASSERT(out.back().end - out.back().begin == std::max(choice, 0));
    }
    std::set<NodeIndex> numbers;
    std::size_t count = 0;
    NodeIndex end = 0;
    for (const Interval& interval : out) {
      for (NodeIndex number = interval.begin; number < interval.end; ++number, ++count) numbers.insert(number);
      if (interval.begin < interval.end) end = std::max(end, interval.end);
    }
    RC_ASSERT(numbers.size() == count);
    RC_ASSERT(allocator.end() == end);
  }
}

}  // namespace
}  // namespace edgewise
