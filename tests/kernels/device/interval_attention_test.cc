// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/interval_attention.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/graph/relation_ops.h"
#include "tests/kernels/attention_cases.h"
#include "tests/kernels/device/attention_on_device.h"
#include "tests/kernels/device/schedules.h"
#include "tests/support/relation_zoo.h"

namespace edgewise::kernels {
namespace {

template <typename T>
AttentionResult<T> run(const AttentionProblem<T>& problem, const std::vector<Interval>& intervals) {
  RelationView relation = problem.relation().view();
  relation.intervals = intervals.data();
  relation.sources = nullptr;
  return run_on_device(
      problem, relation,
      [&](const auto& p, const RelationView& on_device) { interval_attention_forward(p, on_device, device::Stream()); },
      [](const auto& /*p*/, const RelationView& /*on_device*/) {});
}

template <typename T>
void expect_forward_near(const AttentionResult<T>& actual, const AttentionResult<double>& expected) {
  // A weight that is rounded to bf16 has a relative error of up to 2^-9, and a value after dropout is at most 5.
  const double sums = std::is_same_v<T, BFloat16> ? 5 * 0x1p-9 : kTolerance<T>.sums;
  expect_near(actual.out, expected.out, "out", with_sums<T>(sums));
  expect_near(actual.log_normalizer, expected.log_normalizer, "log_normalizer");
}

template <typename T>
class IntervalAttention : public testing::Test {};
using DeviceTypes = testing::Types<float, BFloat16>;
TYPED_TEST_SUITE(IntervalAttention, DeviceTypes);

TYPED_TEST(IntervalAttention, MatchesTheReferenceOnEveryRelationOfIntervals) {
  int count = 0;
  for (const auto& [name, relation] : relation_zoo()) {
    const std::optional<std::vector<Interval>> intervals = rows_as_intervals(relation.view());
    if (!intervals) continue;
    ++count;
    for (const AttentionCase& options : attention_cases()) {
      if (options.name == "bias" || options.name == "clamp") continue;  // "all" has both, and the emulator is slow
      SCOPED_TRACE(name + ", " + options.name);
      const AttentionProblem<TypeParam> problem(relation, {2, 32, 32}, options);

      expect_forward_near(run(problem, *intervals), problem.run_in_double());
    }
  }
  EXPECT_GE(count, 15);
}

// Returns the relation whose rows are these intervals of 200 sources.
Relation rows_of(std::size_t count, const std::function<Interval(NodeIndex)>& interval) {
  std::vector<Interval> rows;
  for (std::size_t row = 0; row < count; ++row) rows.push_back(interval(static_cast<NodeIndex>(row)));
  return Relation::from_intervals(200, rows);
}

TYPED_TEST(IntervalAttention, MatchesTheReferenceOnIntervalsInAnyOrder) {
  RandomStream random(3);
  const std::vector<Relation> relations = {
      rows_of(70,
              [](NodeIndex row) {
                return Interval{190 - 2 * row, 200 - 2 * row};
              }),  // descending
      rows_of(64,
              [](NodeIndex row) {
                return Interval{3 * row, 3 * row + 1};
              }),  // each of its own
      rows_of(70,
              [](NodeIndex row) {
                return Interval{row % 3 * 60, row % 3 * 60 + 60};
              }),  // in turn
      rows_of(70,
              [](NodeIndex row) {
                return row % 4 == 0 ? Interval{5, 5} : Interval{row, row + 70};
              }),
      rows_of(66,
              [](NodeIndex row) {
                return row == 40 ? Interval{0, 200} : Interval{2 * row, 2 * row + 2};
              }),
      rows_of(10,
              [](NodeIndex row) {
                return row < 9 ? Interval{0, 0} : Interval{199, 200};
              }),
      rows_of(130, [&](NodeIndex /*row*/) {
        const auto begin = static_cast<NodeIndex>(random.next_below(200));
        return Interval{begin, begin + static_cast<NodeIndex>(random.next_below(201 - begin))};
      })};
  for (std::size_t i = 0; i < relations.size(); ++i) {
    SCOPED_TRACE("relation " + std::to_string(i));
    for (const AttentionCase& options : {AttentionCase{.name = ""}, attention_cases().back()}) {
      const AttentionProblem<TypeParam> problem(relations[i], {1, 32, 32}, options);

      expect_forward_near(run(problem, *rows_as_intervals(relations[i].view())), problem.run_in_double());
    }
  }
}

TYPED_TEST(IntervalAttention, GivesTheRowsOfASentenceTheSameBitsBetweenAnyOthers) {
  for (const std::int64_t size : {32, 64, 96, 128}) {
    for (const Relation& sentence : {complete(70), causal(33), bipartite(50, 20)}) {
      for (const std::vector<std::int64_t>& before : {std::vector<std::int64_t>{1}, {13}, {50}, {64}, {2, 3, 1, 60}}) {
        SCOPED_TRACE("head size " + std::to_string(size) + ", after " + std::to_string(before[0]));
        std::vector<Relation> all;
        for (const std::int64_t length : before) all.push_back(complete(length));
        const std::int64_t first = join(all).num_destinations();
        all.push_back(sentence);
        all.push_back(complete(5));
        const AttentionProblem<TypeParam> together(join(all), {1, size, size}, {.name = ""});
        const AttentionProblem<TypeParam> alone = together.part(sentence, first, first);

        const AttentionResult<TypeParam> expected = run(alone, *rows_as_intervals(sentence.view()));
        const AttentionResult<TypeParam> actual = run(together, *rows_as_intervals(together.relation().view()));

        for (std::size_t i = 0; i < expected.out.size(); ++i) {
          ASSERT_EQ(actual.out[first * size + i], expected.out[i]) << "row " << i / size;
        }
        for (std::size_t row = 0; row < expected.log_normalizer.size(); ++row) {
          ASSERT_EQ(actual.log_normalizer[first + row], expected.log_normalizer[row]) << "row " << row;
        }
      }
    }
  }
}

TYPED_TEST(IntervalAttention, GivesTheSameBitsInEverySchedule) {
  const Relation relation = join(std::vector<Relation>{causal(37), complete(41), bipartite(3, 5)});
  const std::optional<std::vector<Interval>> intervals = rows_as_intervals(relation.view());
  for (const std::int64_t size : {32, 64, 96, 128}) {
    SCOPED_TRACE("head size " + std::to_string(size));
    const AttentionProblem<TypeParam> problem(relation, {1, size, size}, {.name = "", .dropout = 0.3, .scale = 0.2});
    const AttentionResult<TypeParam> expected = run(problem, *intervals);
    expect_forward_near(expected, problem.run_in_double());

    gpu::for_each_schedule([&] {
      const AttentionResult<TypeParam> actual = run(problem, *intervals);
      EXPECT_TRUE(actual.out == expected.out);
      EXPECT_TRUE(actual.log_normalizer == expected.log_normalizer);
    });
  }
}

TYPED_TEST(IntervalAttention, GivesZerosToARowWithoutFiniteScores) {
  constexpr float kAbsent = -std::numeric_limits<float>::infinity();
  AttentionProblem<TypeParam> problem(complete(2), {1, 32, 32}, {.name = "", .has_bias = true});
  problem.edge_bias() = {kAbsent, kAbsent, kAbsent, 0};

  const AttentionResult<TypeParam> result = run(problem, *rows_as_intervals(problem.relation().view()));

  EXPECT_EQ(result.log_normalizer[0], kAbsent);
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(result.out[i], 0.0f);
  expect_forward_near(result, problem.run_in_double());
}

TYPED_TEST(IntervalAttention, ComputesOneHeadAndLeavesTheOthers) {
  const Relation relation = window(70, {.before = 9, .after = 4});
  const AttentionProblem<TypeParam> problem(relation, {3, 64, 64}, {.name = "", .dropout = 0.2});
  const AttentionResult<TypeParam> expected = run(problem, *rows_as_intervals(relation.view()));

  const AttentionResult<TypeParam> actual = run_on_device(
      problem, relation.view(),
      [&](auto p, const RelationView& on_device) {
        p.only_head = 1;
        interval_attention_forward(p, on_device, device::Stream());
      },
      [](const auto& /*p*/, const RelationView& /*on_device*/) {});

  for (std::size_t i = 0; i < actual.out.size(); ++i) {
    if (i / 64 % 3 == 1) {
      ASSERT_EQ(actual.out[i], expected.out[i]) << i;
    } else {
      ASSERT_NE(actual.out[i], actual.out[i]) << i;  // still NaN
    }
  }
}

}  // namespace
}  // namespace edgewise::kernels
