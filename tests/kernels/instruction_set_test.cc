// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/simd/instruction_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "edgewise/base/error.h"

namespace edgewise::kernels {
namespace {

TEST(InstructionSet, TheBestOfTheMachineIsInForceUnlessTheEnvironmentNamesAnother) {
  const char* wanted = std::getenv("EDGEWISE_KERNELS");
  if (wanted != nullptr) {
    EXPECT_EQ(instruction_set_name(instruction_set()), wanted);
  } else {
    EXPECT_EQ(instruction_set(), runnable_instruction_sets().back());
  }
}

TEST(InstructionSet, EveryMachineRunsTheReferenceAndPlainCode) {
  const auto sets = runnable_instruction_sets();
  EXPECT_EQ(sets.front(), InstructionSet::kReference);
  EXPECT_THAT(sets, testing::Contains(InstructionSet::kGeneric));
  EXPECT_TRUE(std::ranges::is_sorted(sets));
}

TEST(InstructionSet, AForcedSetIsInForceUntilItsScopeEnds) {
  const InstructionSet before = instruction_set();
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    EXPECT_EQ(instruction_set(), set);
  }
  EXPECT_EQ(instruction_set(), before);
}

TEST(InstructionSetDeathTest, AnUnknownNameInTheEnvironmentIsAnErrorThatListsTheKnownNames) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        ::setenv("EDGEWISE_KERNELS", "fastest", /*overwrite=*/1);
        try {
          instruction_set();
        } catch (const Error& error) {
          std::fputs(error.what(), stderr);
          std::exit(2);
        }
      },
      testing::ExitedWithCode(2), "EDGEWISE_KERNELS: value is 'fastest', needs one of reference, generic, .*");
}

}  // namespace
}  // namespace edgewise::kernels
