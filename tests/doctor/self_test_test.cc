// SPDX-License-Identifier: Apache-2.0
#include "edgewise/doctor/self_test.h"

#include <gtest/gtest.h>

#include <set>

#include "edgewise/base/error.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/simd/instruction_set.h"

namespace edgewise {
namespace {

TEST(SelfTests, AreRightOnEveryInstructionSetAndAnyNumberOfThreads) {
  for (const kernels::InstructionSet set : kernels::runnable_instruction_sets()) {
    const kernels::ForcedInstructionSet forced(set);
    for (const int threads : {1, 3}) {
      const NumThreadsScope scope(threads);
      for (const SelfTest& test : self_tests()) {
        const Finding finding = run_self_test(test);
        EXPECT_TRUE(finding.is_right) << kernels::instruction_set_name(set) << ", " << threads << " threads, "
                                      << test.name << ": " << finding.text;
      }
    }
  }
}

TEST(SelfTests, HaveDifferentNames) {
  std::set<std::string_view> names;
  for (const SelfTest& test : self_tests()) names.insert(test.name);
  EXPECT_EQ(names.size(), self_tests().size());
}

TEST(SelfTests, CountAnExceptionAsAWrongResult) {
  const Finding finding = run_self_test({"a test", []() -> Finding { fail("gemm: memory is full, needs more"); }});
  EXPECT_FALSE(finding.is_right);
  EXPECT_EQ(finding.text, "gemm: memory is full, needs more");
}

}  // namespace
}  // namespace edgewise
