// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/attention_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "edgewise/kernels/simd/instruction_set.h"
#include "tests/support/relation_zoo.h"

namespace edgewise::kernels {
namespace {

using testing::ElementsAre;

std::string_view path_name(const Relation& relation) {
  return attention_path_name(AttentionPlan(relation.view()).path());
}

TEST(AttentionPlan, UsesTilesForIntervalsAndRowsForOtherRelations) {
  for (const auto& [name, relation] : relation_zoo()) {
    SCOPED_TRACE(name);
    const bool is_intervals = relation.prefer_intervals().form() == Relation::Form::kIntervals;
    EXPECT_EQ(path_name(relation), is_intervals ? "tiles" : "rows");
    EXPECT_EQ(path_name(relation.to_csr()), path_name(relation));
  }
}

TEST(AttentionPlan, UsesRowsForSparseAndUnorderedRelations) {
  std::vector<std::string> by_rows;
  for (const auto& [name, relation] : relation_zoo()) {
    if (path_name(relation) == "rows") by_rows.push_back(name);
  }

  EXPECT_THAT(by_rows, ElementsAre("dilated", "strided", "random sparse", "rows with gaps", "rows in no order",
                                   "duplicate edges"));
}

TEST(AttentionPlan, UsesTheReferenceForDouble) {
  const Relation relation = strided(14, 4);
  const AttentionPlan plan(relation.view());
  const ForcedInstructionSet forced(runnable_instruction_sets().back());

  EXPECT_EQ(plan.path_of<double>(), AttentionPath::kReference);
  EXPECT_EQ(plan.path_of<float>(), AttentionPath::kRows);
  EXPECT_EQ(plan.path_of<BFloat16>(), AttentionPath::kRows);
}

TEST(AttentionPlan, UsesTheReferenceForEveryTypeIfTheReferenceIsForced) {
  const Relation relation = strided(14, 4);
  const AttentionPlan plan(relation.view());
  const ForcedInstructionSet forced(InstructionSet::kReference);

  EXPECT_EQ(plan.path_of<float>(), AttentionPath::kReference);
  EXPECT_EQ(plan.path_of<BFloat16>(), AttentionPath::kReference);
}

}  // namespace
}  // namespace edgewise::kernels
