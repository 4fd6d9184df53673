// SPDX-License-Identifier: Apache-2.0
// Compares attend with its definition on thousands of random relations: intervals and rows, wide, descending, shuffled,
// with empty rows and equal edges.
#include "edgewise/base/threads.h"
#include "tests/ops/random_attend.h"

namespace edgewise {
namespace {

void expect_definition_in_random_cases(std::uint64_t begin, std::uint64_t end, at::ScalarType type) {
  const int threads_before = num_threads();
  for (std::uint64_t number = begin; number < end && !testing::Test::HasFailure(); ++number) {
    SCOPED_TRACE(number);
    RandomAttend random(number);
    const Relation relation = random.draw_relation();
    AttentionOptions options = random.draw_options();
    const Tensors inputs = random.draw_inputs(relation, type);
    if (options.clamp) options.clamp = clamp_between_scores(relation, options, inputs);
    set_num_threads(static_cast<int>(1 + random.below(3)));

    const auto sets = kernels::runnable_instruction_sets();
    const kernels::ForcedInstructionSet forced(sets[static_cast<std::size_t>(random.below(std::ssize(sets)))]);
    expect_matches_definition(relation, options, inputs, OnInstructionSets::kForced);
  }
  set_num_threads(threads_before);
}

TEST(AttendOnRandomRelations, MatchesItsDefinitionInFloat) { expect_definition_in_random_cases(0, 5000, at::kFloat); }

TEST(AttendOnRandomRelations, MatchesItsDefinitionInBFloat16) {
  expect_definition_in_random_cases(5000, 9000, at::kBFloat16);
}

TEST(AttendOnRandomRelations, MatchesItsDefinitionInDouble) {
  expect_definition_in_random_cases(9000, 10'000, at::kDouble);
}

}  // namespace
}  // namespace edgewise
