// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/tile_attention.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "edgewise/base/threads.h"
#include "edgewise/graph/relation_ops.h"
#include "edgewise/kernels/simd/scratch.h"
#include "tests/kernels/attention_cases.h"
#include "tests/kernels/instruction_sets.h"
#include "tests/support/failures_of.h"
#include "tests/support/relation_zoo.h"

namespace edgewise::kernels {
namespace {

enum class BackwardWeights { kSavedByForward, kRecomputed };

template <typename T>
AttentionResult<T> run_tiles(const AttentionProblem<T>& problem,
                             BackwardWeights weights = BackwardWeights::kSavedByForward) {
  const TilePlan plan(problem.relation().view());
  AlignedBuffer buffer;
  auto set_saved_weights = [&](AttentionForward<T>& p) {
    if (weights == BackwardWeights::kRecomputed) return;
    p.saved_weights = buffer.elements<float>(plan.num_saved_weights * p.num_heads);
  };
  return problem.run_with(
      [&](AttentionForward<T> p) {
        set_saved_weights(p);
        std::fill_n(p.saved_weights, p.saved_weights == nullptr ? 0 : plan.num_saved_weights * p.num_heads,
                    std::numeric_limits<float>::quiet_NaN());
        cpu::tile_attention_forward(p, plan);
      },
      [&](AttentionBackward<T> p) {
        set_saved_weights(p.forward);
        cpu::tile_attention_backward(p, plan);
      });
}

// The error of the gradients of scores in rows with several tiles. In bf16, backward computes the mean gradient of a
// row's weights from the rounded output. Its error is a sum of about 9 products of numbers of about 1, each with an
// error of up to 2^-8; the gradients themselves are several times smaller than 1.
template <typename T>
constexpr double kSeveralTiles = std::is_same_v<T, float> ? kTolerance<float>.sums : 0x1p-3;

template <typename T>
void expect_tiles_near_reference(const AttentionProblem<T>& problem, double score_sums = kTolerance<T>.sums) {
  const AttentionResult<double> expected = problem.run_in_double();
  for_instruction_sets([&] {
    for (const auto weights : {BackwardWeights::kSavedByForward, BackwardWeights::kRecomputed}) {
      expect_outputs_and_gradients_near(run_tiles(problem, weights), expected, kTolerance<T>.sums, score_sums);
    }
  });
}

template <typename T>
void expect_same_bits(const AttentionResult<T>& actual, const AttentionResult<T>& expected) {
  EXPECT_EQ(actual.out, expected.out);
  EXPECT_EQ(actual.log_normalizer, expected.log_normalizer);
  EXPECT_EQ(actual.grad_query, expected.grad_query);
  EXPECT_EQ(actual.grad_key, expected.grad_key);
  EXPECT_EQ(actual.grad_value, expected.grad_value);
  EXPECT_EQ(actual.grad_edge_bias, expected.grad_edge_bias);
}

std::vector<NamedRelation> tileable_relations() {
  std::vector<NamedRelation> relations = large_relation_zoo();
  std::erase_if(relations, [](const NamedRelation& entry) { return !rows_ascend(entry.relation.view()); });
  const std::vector<Relation> sentences = {complete(17), complete(1), causal(28), bipartite(5, 33), complete(31)};
  relations.push_back({"sentences", join(sentences)});
  relations.push_back({"several blocks, complete", complete(150)});
  relations.push_back({"several blocks, causal", causal(195)});
  relations.push_back({"several blocks, window", window(333, {.before = 40, .after = 25})});
  relations.push_back({"far apart", Relation::from_intervals(500, {{490, 500}, {0, 3}, {200, 300}, {7, 7}, {0, 500}})});
  relations.push_back({"sentences, as rows", join(sentences).to_csr()});
  relations.push_back({"window and a few for all",
                       unite(window(200, {.before = 9, .after = 9}), prefix(200, std::vector<std::int64_t>(200, 3)))});
  relations.push_back({"several blocks, random", random_relation(400, 90, 60, /*seed=*/4)});
  return relations;
}

template <typename T>
class TileAttention : public testing::Test {
 protected:
  void TearDown() override { set_num_threads(threads_before_); }
  int threads_before_ = num_threads();
};
using ElementTypes = testing::Types<float, BFloat16>;
TYPED_TEST_SUITE(TileAttention, ElementTypes);

TYPED_TEST(TileAttention, MatchesTheReferenceOnEveryRelationWhoseRowsAscend) {
  for (const auto& [name, relation] : tileable_relations()) {
    for (const AttentionCase& options : attention_cases()) {
      SCOPED_TRACE(name + ", " + options.name);
      expect_tiles_near_reference(AttentionProblem<TypeParam>(relation, {3, 8, 5}, options), kSeveralTiles<TypeParam>);
    }
  }
}

TYPED_TEST(TileAttention, MatchesTheReferenceForEveryHeadSize) {
  for (const std::int64_t head_size : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 48, 64, 65, 100, 128, 256, 257}) {
    for (const std::int64_t value_size : {head_size, head_size + 1, std::int64_t{40}}) {
      SCOPED_TRACE("head size " + std::to_string(head_size) + ", value size " + std::to_string(value_size));
      const AttentionSizes sizes = {2, head_size, value_size};
      expect_tiles_near_reference(AttentionProblem<TypeParam>(causal(21), sizes, {.name = "", .scale = 0.1}));
    }
  }
}

TYPED_TEST(TileAttention, MatchesTheReferenceForEverySentenceLength) {
  for (std::int64_t length = 1; length <= 2 * kTileRows + 2; length += length < 40 ? 1 : 8) {
    SCOPED_TRACE(length);
    const AttentionSizes sizes = {1, 16, 16};
    expect_tiles_near_reference(AttentionProblem<TypeParam>(complete(length), sizes, {.name = "", .scale = 0.25}));
  }
}

TYPED_TEST(TileAttention, GivesTheSameBitsForAnyNumberOfThreads) {
  const std::vector<Relation> sentences = {complete(40), bipartite(3, 30), complete(1), causal(25)};
  for (const Relation& relation : {join(sentences), causal(400), window(700, {.before = 60, .after = 20}),
                                   random_relation(400, 300, 50, /*seed=*/1)}) {
    const AttentionProblem<TypeParam> problem(relation, {1, 24, 9}, {.name = "", .has_bias = true, .dropout = 0.2});
    set_num_threads(1);
    const AttentionResult<TypeParam> expected = run_tiles(problem);
    for (const int threads : {1, 2, 3, 5}) {
      SCOPED_TRACE(threads);
      set_num_threads(threads);

      expect_same_bits(run_tiles(problem), expected);
    }
  }
}

TYPED_TEST(TileAttention, GivesASentenceTheSameBitsAloneAndInABatch) {
  const std::vector<Relation> sentences = {complete(7), causal(90), Relation::from_intervals(2, {{1, 1}}), complete(5)};
  const AttentionProblem<TypeParam> batch(join(sentences), {2, 16, 9}, {.name = ""});
  const AttentionResult<TypeParam> batch_result = run_tiles(batch);

  const AttentionResult<TypeParam> alone = run_tiles(batch.part(causal(90), 7, 7));

  auto sentence_part = [](const auto& values, std::size_t size) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(7 * 2 * size);
    return std::decay_t<decltype(values)>(begin, begin + static_cast<std::ptrdiff_t>(90 * 2 * size));
  };
  EXPECT_EQ(alone.out, sentence_part(batch_result.out, 9));
  EXPECT_EQ(alone.log_normalizer, sentence_part(batch_result.log_normalizer, 1));
  EXPECT_EQ(alone.grad_query, sentence_part(batch_result.grad_query, 16));
  EXPECT_EQ(alone.grad_key, sentence_part(batch_result.grad_key, 16));
  EXPECT_EQ(alone.grad_value, sentence_part(batch_result.grad_value, 9));
}

TYPED_TEST(TileAttention, DoesNotOverflowOnScoresOfTenThousand) {
  AttentionProblem<TypeParam> problem(complete(200), {1, 4, 4}, {.name = "", .has_bias = true, .scale = 1e-3});
  for (std::size_t i = 0; i < problem.edge_bias().size(); ++i) {
    problem.edge_bias()[i] = (i / 50) % 3 == 0 ? 1e4f : -1e4f;
  }
  const AttentionResult<double> expected = problem.run_in_double();
  // A score of 1e4 has a rounding error of up to 1e4 * epsilon, and its weight has this relative error.
  const double sums = 2e4 * std::numeric_limits<float>::epsilon();
  for_instruction_sets([&] { expect_outputs_and_gradients_near(run_tiles(problem), expected, sums, sums); });
}

TYPED_TEST(TileAttention, TreatsAnEdgeOfScoreMinusInfinityAsAbsent) {
  constexpr float kAbsent = -std::numeric_limits<float>::infinity();
  for (const std::int64_t length : {3, 140}) {
    AttentionProblem<TypeParam> problem(complete(length), {1, 4, 4}, {.name = "", .has_bias = true});
    for (std::int64_t source = 0; source < length; ++source) {
      problem.edge_bias()[source] = source == 0 ? 0 : kAbsent;  // row 0 has a finite score for source 0 only
      problem.edge_bias()[length + source] = kAbsent;           // row 1 has no finite score
    }

    expect_tiles_near_reference(problem, kSeveralTiles<TypeParam>);

    for_instruction_sets([&] {
      const AttentionResult<TypeParam> actual = run_tiles(problem);
      EXPECT_EQ(actual.log_normalizer[1], kAbsent);
      for (std::size_t i = 4; i < 8; ++i) EXPECT_EQ(static_cast<float>(actual.out[i]), 0);
    });
  }
}

TYPED_TEST(TileAttention, PropagatesNanInABiasToItsRow) {
  AttentionProblem<TypeParam> problem(complete(20), {1, 4, 4}, {.name = "", .has_bias = true});
  problem.edge_bias()[3 * 20 + 7] = std::numeric_limits<float>::quiet_NaN();
  for_instruction_sets([&] {
    const AttentionResult<TypeParam> actual = run_tiles(problem);

    EXPECT_TRUE(std::isnan(actual.log_normalizer[3]));
    EXPECT_TRUE(std::isnan(static_cast<float>(actual.out[3 * 4])));
    EXPECT_TRUE(std::isnan(static_cast<float>(actual.grad_query[3 * 4])));
    EXPECT_FALSE(std::isnan(static_cast<float>(actual.out[4 * 4])));
  });
}

TYPED_TEST(TileAttention, MatchesTheReferenceOnRandomIntervals) {
  EXPECT_TRUE(rc::check("random intervals", [] {
    const auto num_sources = *rc::gen::inRange(0, 200);
    const auto bounds = *rc::gen::container<std::vector<std::pair<int, int>>>(
        rc::gen::pair(rc::gen::inRange(0, num_sources + 1), rc::gen::inRange(0, num_sources + 1)));
    std::vector<Interval> rows;
    for (const auto& [a, b] : bounds) rows.push_back({std::min(a, b), std::max(a, b)});
    const Relation relation = Relation::from_intervals(num_sources, rows);

    const std::string failures = failures_of([&] {
      expect_tiles_near_reference(
          AttentionProblem<TypeParam>(relation, {2, 5, 7}, {.name = "", .has_bias = true, .dropout = 0.3}),
          2 * kSeveralTiles<TypeParam>);  // twice, because other problems are drawn in each run
    });

    if (!failures.empty()) RC_FAIL(failures);
  }));
}

}  // namespace
}  // namespace edgewise::kernels
