// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/parallel_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <atomic>
#include <set>
#include <vector>

#include "edgewise/base/threads.h"
#include "edgewise/graph/relation_ops.h"
#include "tests/support/relation_zoo.h"

namespace edgewise::kernels {
namespace {

using testing::ElementsAre;

TEST(IndependentRuns, AreTheSentencesOfABatch) {
  const std::vector<Relation> sentences = {complete(4), causal(2), bipartite(3, 5)};
  const Relation batch = join(sentences);

  EXPECT_THAT(find_independent_runs(batch.view()), ElementsAre(0, 4, 6, 11));
  EXPECT_THAT(find_independent_runs(batch.to_csr().view()), ElementsAre(0, 4, 6, 11));
}

TEST(IndependentRuns, AreOneRunIfTheOrderOfRowsDiffersFromTheOrderOfSources) {
  const Relation crossed = Relation::from_intervals(4, {{2, 4}, {0, 2}});

  EXPECT_THAT(find_independent_runs(crossed.view()), ElementsAre(0, 2));
}

TEST(IndependentRuns, ShareNoSource) {
  for (const auto& [name, relation] : large_relation_zoo()) {
    SCOPED_TRACE(name);
    const std::vector<std::int64_t> runs = find_independent_runs(relation.view());

    EXPECT_EQ(runs.front(), 0);
    EXPECT_EQ(runs.back(), relation.num_destinations());
    std::vector<std::int64_t> run_of_source(relation.num_sources(), -1);
    for (std::size_t run = 0; run + 1 < runs.size(); ++run) {
      EXPECT_LT(runs[run], runs[run + 1]);
      for (EdgeIndex edge = relation.row_begin()[runs[run]]; edge < relation.row_begin()[runs[run + 1]]; ++edge) {
        std::int64_t& owner = run_of_source[relation.edges().sources[edge]];
        EXPECT_TRUE(owner == -1 || owner == static_cast<std::int64_t>(run)) << "edge " << edge;
        owner = static_cast<std::int64_t>(run);
      }
    }
  }
}

TEST(ParallelPairs, VisitsEveryPairOnceForAnyCosts) {
  const int threads_before = num_threads();
  EXPECT_TRUE(rc::check([] {
    const auto costs = *rc::gen::container<std::vector<std::uint16_t>>(rc::gen::weightedOneOf<std::uint16_t>(
        {{1, rc::gen::just<std::uint16_t>(0)}, {2, rc::gen::inRange<std::uint16_t>(1, 2000)}}));
    const auto num_heads = *rc::gen::inRange<std::int64_t>(0, 5);
    set_num_threads(*rc::gen::inRange(1, 6));
    std::vector<std::int64_t> cost_before(costs.size() + 1);
    for (std::size_t i = 0; i < costs.size(); ++i) cost_before[i + 1] = cost_before[i] + costs[i];
    std::vector<std::atomic<int>> visits(costs.size() * num_heads);

    parallel_pairs(
        static_cast<std::int64_t>(costs.size()), {0, num_heads}, [&](std::int64_t item) { return cost_before[item]; },
        [&](std::int64_t item, std::int64_t head) { ++visits[item * num_heads + head]; });

    for (const auto& count : visits) RC_ASSERT(count == 1);
  }));
  set_num_threads(threads_before);
}

}  // namespace
}  // namespace edgewise::kernels
