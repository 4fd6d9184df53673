// SPDX-License-Identifier: Apache-2.0
// Slots are refilled as soon as they are free, without changing results.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "tests/search/search_cases.h"

namespace edgewise {
namespace {

constexpr std::int64_t kVocabulary = 12;

RC_GTEST_PROP(Search, ResultOfASentenceIsIndependentOfOtherSentences, ()) {
  SearchOptions options = arbitrary_search_options(kVocabulary, 5);
  if (*rc::gen::arbitrary<bool>()) options.once = {5, 6};
  std::erase(options.once, options.end_token);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto token = rc::gen::inRange<std::int64_t>(0, kVocabulary);
  std::vector<SearchInput> inputs;
  for (const Tokens& tokens : *rc::gen::container<std::vector<Tokens>>(rc::gen::container<Tokens>(token))) {
    const auto size = *rc::gen::inRange<std::size_t>(0, 4);
    inputs.push_back({.tokens = tokens,
                      .prefix = *rc::gen::container<Tokens>(size, token),
                      .once = {*token},
                      .attention = *rc::gen::arbitrary<bool>()});
  }
  const SearchCapacity capacity{.sentences = *rc::gen::inRange<std::int64_t>(1, 6),
                                .tokens = *rc::gen::inRange<std::int64_t>(0, 12)};
  TableScorer alone(kVocabulary, random_table(kVocabulary, seed), random_attention(seed));
  TableScorer together(kVocabulary, random_table(kVocabulary, seed), random_attention(seed));

  const auto expected = search(alone, inputs, options, {.sentences = 1});
  const auto found = search(together, inputs, options, capacity);

  RC_ASSERT(together.last_slot < capacity.sentences);
  RC_ASSERT(found.size() == inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    RC_ASSERT(found[i].size() == expected[i].size());
    for (std::size_t j = 0; j < found[i].size(); ++j) {
      RC_ASSERT(found[i][j].tokens == expected[i][j].tokens);
      RC_ASSERT(found[i][j].score == expected[i][j].score);
      RC_ASSERT(found[i][j].attention == expected[i][j].attention);
    }
  }
}

/// Produces as many tokens as the value of the first input token.
std::vector<float> as_long_as_told(const Tokens& input, const Tokens& produced) {
  std::vector<float> row(kVocabulary, -9.0f);
  row[std::ssize(produced) < input.front() ? 4 : 3] = -0.1f;
  return row;
}

TEST(Search, RefillsASlotAsSoonAsItsSentenceIsDone) {
  TableScorer scorer(kVocabulary, as_long_as_told);

  search(scorer, std::vector<Tokens>{{5}, {1}, {1}, {0}}, {}, {.sentences = 2});

  // The first sentence takes 5 + 1 steps; meanwhile the others run one after another in the second slot.
  EXPECT_EQ(scorer.new_nodes, (std::vector<std::int64_t>{2, 2, 2, 2, 2, 1}));
  EXPECT_EQ(scorer.num_encode_calls, 3);
}

TEST(Search, RespectsTheTokenCapacity) {
  TableScorer scorer(kVocabulary, as_long_as_told);

  search(scorer, std::vector<Tokens>{{1, 5, 5}, {1, 5, 5}, {1, 5, 5, 5, 5, 5, 5}, {1}}, {}, {.tokens = 6});

  EXPECT_EQ(scorer.new_nodes, (std::vector<std::int64_t>{2, 2, 1, 1, 1, 1}));
}

TEST(Search, EndsAnInputWhoseStopIsSetAndGivesItsSlotToTheNext) {
  StopRequest stop = false;
  TableScorer scorer(kVocabulary, [&](const Tokens& input, const Tokens& produced) {
    if (input.front() == 9 && produced.size() == 2) stop = true;  // in the third step of the first input
    return as_long_as_told(input, produced);
  });
  const std::vector<SearchInput> inputs = {{.tokens = {9}, .stop = &stop}, {.tokens = {5}}, {.tokens = {1}}};

  const auto found = search(scorer, inputs, {}, {.sentences = 2});

  EXPECT_TRUE(found[0].empty());
  EXPECT_EQ(found[1].at(0).tokens.size(), 5u);
  EXPECT_EQ(found[2].at(0).tokens.size(), 1u);
  // The third input runs beside the second one in the steps after the third.
  EXPECT_EQ(scorer.new_nodes, (std::vector<std::int64_t>{2, 2, 2, 2, 2, 1}));
}

/// A scorer after which each output ends at once; counts the new nodes of each step.
class EndingScorer : public Scorer {
 public:
  std::int64_t vocabulary_size() const override { return kVocabulary; }
  void encode(std::span<const std::int64_t>, std::span<const Tokens>) override {}
  void step(const StepRequest& request, StepResult& result) override {
    new_nodes.push_back(std::ssize(request.nodes));
    result = {};
    result.candidates.assign(static_cast<std::size_t>(std::ssize(request.nodes) * request.num_candidates), {-1, 0.0F});
    for (std::size_t row = 0; row < request.nodes.size(); ++row) {
      result.candidates[row * static_cast<std::size_t>(request.num_candidates)] = {3, -0.1F};
    }
    result.wanted.assign(request.wanted.size(), -0.1F);
  }

  std::vector<std::int64_t> new_nodes;
};

TEST(Search, ScoresAsManyPrefixesInAStepAsHaveTheAncestorsOfTheLongest) {
  EndingScorer scorer;
  const SearchInput input = {.tokens = {4, 5}, .prefix = Tokens(kMaxPrefix / 2, 5)};

  const auto results = search(scorer, std::vector<SearchInput>(6, input));

  const std::int64_t nodes = kMaxPrefix / 2 + 1;
  EXPECT_EQ(scorer.new_nodes, (std::vector<std::int64_t>{4 * nodes, 2 * nodes}));
  for (const std::vector<Hypothesis>& result : results) EXPECT_EQ(result.front().tokens, input.prefix);
}

/// Provides an input only if the search is idle, or after several calls.
class SlowQueue : public SearchQueue {
 public:
  std::optional<SearchInput> next(bool is_busy) override {
    ++asked;
    if (given == 2 || (is_busy && asked < 4)) return std::nullopt;
    return SearchInput{.tokens = {3}, .id = given++};
  }
  void put_result(SearchInput input, std::vector<Hypothesis>) override { ids.push_back(input.id); }

  std::int64_t given = 0;
  std::int64_t asked = 0;
  std::vector<std::int64_t> ids;
};

TEST(Search, ContinuesWhileTheNextInputIsNotAvailable) {
  TableScorer scorer(kVocabulary, as_long_as_told);
  SlowQueue queue;

  search(scorer, queue);

  EXPECT_EQ(queue.ids, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(scorer.new_nodes, (std::vector<std::int64_t>{1, 1, 2, 2, 1, 1}));
}

/// Stops the search before its third step.
class StoppedQueue : public SlowQueue {
 public:
  bool is_stopped() const override { return ++num_steps == 3; }

  mutable int num_steps = 0;
};

TEST(Search, EndsWithoutResultsWhenItsQueueIsStopped) {
  TableScorer scorer(kVocabulary, as_long_as_told);
  StoppedQueue queue;

  search(scorer, queue);

  EXPECT_EQ(scorer.new_nodes.size(), 2U);
  EXPECT_TRUE(queue.ids.empty());
}

}  // namespace
}  // namespace edgewise
