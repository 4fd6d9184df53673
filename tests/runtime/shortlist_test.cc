// SPDX-License-Identifier: Apache-2.0
// Scorers with a shortlist give what all logits give of which the other tokens' are -inf.
#include "edgewise/search/shortlist.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "tests/models/universal_models.h"
#include "tests/runtime/scorer_checks.h"

namespace edgewise {
namespace {

using kernels::ForcedInstructionSet;

constexpr float kLowest = -std::numeric_limits<float>::infinity();
constexpr std::int64_t kShortlistVocabulary = 1100;  // two tiles of the output projection

/// Returns a shortlist with up to 40 tokens for each token of the input: 40 inputs together need several blocks.
std::shared_ptr<const Shortlist> random_shortlist(std::int64_t vocabulary, std::uint64_t most = 40) {
  RandomStream random(/*seed=*/5);
  ShortlistTable table = {.first = static_cast<std::uint64_t>(std::min<std::int64_t>(10, vocabulary / 4))};
  for (std::int64_t list = 0; list < vocabulary; ++list) {
    for (std::uint64_t n = random.next_below(most); n > 0; --n) {
      table.tokens.push_back(static_cast<std::uint32_t>(random.next_below(vocabulary)));
    }
    table.offsets.push_back(table.tokens.size());
  }
  const ShortlistVocabularies vocabularies = {.input_size = vocabulary, .output_size = vocabulary, .end_token = 3};
  return std::make_shared<Shortlist>(table, vocabularies, "test");
}

TransformerOptions options_of(std::int64_t vocabulary = kShortlistVocabulary) {
  TransformerOptions options = TransformerOptions::from_preset(TransformerPreset::kTutorial);
  options.size = 48;
  options.heads = 3;
  options.feed_forward = 64;
  options.encoder_layers = options.decoder_layers = 1;
  options.input_vocabulary = options.output_vocabulary = vocabulary;
  options.output_bias = true;
  return options;
}

/// Returns log-probabilities normalised over the selected tokens.
std::vector<float> masked(const float* all, std::int64_t vocabulary, const std::vector<std::int32_t>& selected) {
  double sum = 0;
  for (const std::int32_t token : selected) sum += std::exp(double{all[token]});
  std::vector<float> row(static_cast<std::size_t>(vocabulary), kLowest);
  for (const std::int32_t token : selected) row[token] = static_cast<float>(all[token] - std::log(sum));
  return row;
}

void expect_masked_results(const RuntimeModel& model, const std::shared_ptr<const Shortlist>& shortlist,
                           const std::vector<Tokens>& inputs) {
  const std::int64_t vocabulary = model.options().output_vocabulary;
  const std::vector<GrownStep> all = grow_branches(*model.make_scorer(), inputs, 4);
  const std::vector<GrownStep> found = grow_branches(*model.make_scorer({}, shortlist), inputs, 4);
  for (std::size_t t = 0; t < all.size(); ++t) {
    EXPECT_EQ(found[t].result.attention, all[t].result.attention);
    for (std::size_t row = 0; row < all[t].nodes.size(); ++row) {
      const float* logits = all[t].result.log_probabilities.data() + row * vocabulary;
      const float* actual = found[t].result.log_probabilities.data() + row * vocabulary;
      const std::vector<float> expected =
          masked(logits, vocabulary, shortlist->select(inputs[static_cast<std::size_t>(all[t].nodes[row].slot)]));
      for (std::int64_t token = 0; token < vocabulary; ++token) {
        if (expected[token] == kLowest) {
          ASSERT_EQ(actual[token], kLowest) << "token " << token << " of row " << row << " in step " << t;
        } else {
          ASSERT_NEAR(actual[token], expected[token], 2e-5) << "token " << token << " of row " << row;
        }
      }
    }
  }
}

class ShortlistInEachPrecision : public testing::TestWithParam<RuntimePrecision> {};

TEST_P(ShortlistInEachPrecision, GivesWhatTheOtherLogitsOfMinusInfinityGiveOnEveryInstructionSet) {
  const Transformer model(options_of(), 3);
  const auto shortlist = random_shortlist(kShortlistVocabulary);
  const std::vector<Tokens> inputs = random_inputs(40, kShortlistVocabulary);
  for (const kernels::InstructionSet set : kernels::runnable_instruction_sets()) {
    SCOPED_TRACE(kernels::instruction_set_name(set));
    const ForcedInstructionSet forced(set);
    const RuntimeModel runtime = runtime_of(model, GetParam());
    expect_masked_results(runtime, shortlist, inputs);
    expect_masked_results(runtime, shortlist, {inputs.front()});
  }
}

TEST_P(ShortlistInEachPrecision, ComputesASentenceToTheSameBitsInAnyBatchOnAnyNumberOfThreads) {
  const Transformer model(options_of(), 3);
  const auto shortlist = random_shortlist(kShortlistVocabulary);
  const std::vector<Tokens> inputs = random_inputs(40, kShortlistVocabulary);
  for (const kernels::InstructionSet set : kernels::runnable_instruction_sets()) {
    SCOPED_TRACE(kernels::instruction_set_name(set));
    const ForcedInstructionSet forced(set);
    const RuntimeModel runtime = runtime_of(model, GetParam());
    const std::vector<GrownStep> together = grow_branches(*runtime.make_scorer({}, shortlist), inputs, 4);
    for (const int threads : {1, 2}) {
      const NumThreadsScope scope(threads);
      const auto scorer = runtime.make_scorer({}, shortlist);  // keeps columns of earlier batches
      for (const std::int64_t size : {1, 40, 2, 9, 1, 23}) {
        const std::vector<Tokens> some(inputs.begin(), inputs.begin() + size);
        const std::vector<GrownStep> apart = grow_branches(*scorer, some, 4);
        for (std::int64_t slot = 0; slot < size; ++slot) {
          ASSERT_EQ(rows_of_slot(apart, slot, kShortlistVocabulary), rows_of_slot(together, slot, kShortlistVocabulary))
              << "sentence " << slot << " of " << size << " on " << threads << " threads";
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, ShortlistInEachPrecision,
                         testing::Values(RuntimePrecision::kFp32, RuntimePrecision::kBf16, RuntimePrecision::kInt8),
                         [](const auto& precision) { return std::string(enum_name(precision.param)); });

TEST(RuntimeShortlist, WorksInUniversalTransformers) {
  UniversalTransformer universal = universal_model(universal_options());
  convert_parameters(universal, at::kFloat);
  const RuntimeModel model = runtime_of(universal);
  expect_masked_results(model, random_shortlist(model.options().output_vocabulary, /*most=*/3), kInputs);
}

/// An input in a slot, and the number of nodes in its tree, each the child of the last.
struct ChainSlot {
  Tokens input;
  NodeIndex depth = 0;
};

/// Returns the log-probabilities after a chain of `depth` nodes, from a scorer of its own.
std::vector<float> log_probabilities_alone(const RuntimeModel& model, std::shared_ptr<const Shortlist> shortlist,
                                           const ChainSlot& chain) {
  const auto scorer = model.make_scorer({}, std::move(shortlist));
  scorer->encode(std::vector<std::int64_t>{0}, std::vector<Tokens>{chain.input});
  StepResult result;
  for (NodeIndex node = 0; node < chain.depth; ++node) {
    const std::vector<NewNode> nodes = {{0, node == 0 ? HypothesisTree::kRoot : node - 1, 2}};
    scorer->step({.nodes = nodes, .all = true}, result);
  }
  return result.log_probabilities;
}

// In some rounds many slots take part, in others few. Slots get new inputs, pause, and continue.
TEST(RuntimeShortlist, GivesTheBitsOfANewScorerWhenSlotsComeAndGo) {
  const RuntimeModel model = runtime_of(Transformer(options_of(), 3));
  const auto shortlist = random_shortlist(kShortlistVocabulary, /*most=*/70);
  const auto scorer = model.make_scorer({}, shortlist);
  RandomStream random(/*seed=*/8);
  std::vector<ChainSlot> chains(24);
  for (int round = 0; round < 150; ++round) {
    std::vector<std::int64_t> begun;
    std::vector<Tokens> inputs;
    std::vector<NewNode> nodes;
    for (std::int64_t slot = 0; slot < std::ssize(chains); ++slot) {
      if (random.next_below(round / 30 % 2 == 0 ? 2 : 12) != 0) continue;
      ChainSlot& chain = chains[static_cast<std::size_t>(slot)];
      if (chain.input.empty() || chain.depth == 3) {
        chain = {random_inputs(1, kShortlistVocabulary, random.next_below(1000)).front()};
        begun.push_back(slot);
        inputs.push_back(chain.input);
      }
      nodes.push_back({slot, chain.depth == 0 ? HypothesisTree::kRoot : chain.depth - 1, 2});
      ++chain.depth;
    }
    if (!begun.empty()) scorer->encode(begun, inputs);
    StepResult result;
    scorer->step({.nodes = nodes, .all = true}, result);
    for (std::size_t row = 0; round % 10 == 9 && row < nodes.size(); ++row) {
      const float* found = result.log_probabilities.data() + row * kShortlistVocabulary;
      ASSERT_EQ(std::vector<float>(found, found + kShortlistVocabulary),
                log_probabilities_alone(model, shortlist, chains[static_cast<std::size_t>(nodes[row].slot)]))
          << "round " << round;
    }
  }
}

TEST(RuntimeShortlist, ReturnsTheBestSelectedTokensThatAreAllowedAndNotExcludedAndTheWantedOnes) {
  const RuntimeModel model = runtime_of(Transformer(options_of(), 3));
  const auto shortlist = random_shortlist(kShortlistVocabulary, /*most=*/3);
  const std::vector<Tokens> inputs = {{7, 8, 9}, {10}};
  const auto scorer = model.make_scorer({}, shortlist);
  const std::vector<GrownStep> steps = grow_branches(*scorer, inputs, 1);
  std::vector<std::uint8_t> allowed(kShortlistVocabulary, 1);
  allowed[4] = allowed[5] = 0;
  const std::vector<Continuation> excluded = {{0, 3}, {1, 6}};
  const std::int32_t unselected = 1099;
  ASSERT_FALSE(std::ranges::binary_search(shortlist->select(inputs[0]), unselected));
  const std::vector<Continuation> wanted = {{0, 2}, {0, unselected}, {1, 0}, {1, 4}};
  constexpr std::int64_t kMost = 30;  // more than a row has tokens
  const StepResult result =
      repeat_steps(*scorer, inputs, steps,
                   {.num_candidates = kMost, .allowed = allowed, .excluded = excluded, .wanted = wanted})
          .front();
  for (std::int64_t row = 0; row < 2; ++row) {
    const float* all = steps[0].result.log_probabilities.data() + row * kShortlistVocabulary;
    std::vector<std::int32_t> order;
    for (const std::int32_t token : shortlist->select(inputs[static_cast<std::size_t>(row)])) {
      if (allowed[token] != 0 && !is_among(excluded, row, token)) order.push_back(token);
    }
    std::ranges::stable_sort(order, std::greater(), [&](std::int32_t token) { return all[token]; });
    ASSERT_LT(std::ssize(order), kMost);
    for (std::int64_t i = 0; i < kMost; ++i) {
      const Candidate& found = result.candidates[static_cast<std::size_t>(row * kMost + i)];
      const bool is_there = i < std::ssize(order);
      EXPECT_EQ(found.token, is_there ? order[static_cast<std::size_t>(i)] : -1);
      EXPECT_EQ(found.log_probability, is_there ? all[found.token] : kLowest);
    }
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(result.wanted[i],
              steps[0].result.log_probabilities[wanted[i].row * kShortlistVocabulary + wanted[i].token]);
  }
  EXPECT_EQ(result.wanted[1], kLowest);
}

}  // namespace
}  // namespace edgewise
