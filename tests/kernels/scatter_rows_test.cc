// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/scatter_rows.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/kernels/simd/instruction_set.h"

namespace edgewise::kernels {
namespace {

template <typename T>
class ScatterRowsOf : public testing::Test {
 protected:
  static constexpr std::int64_t kRows = 5;
  static constexpr std::int64_t kStride = 90;
  static constexpr std::int64_t kRowMemory = 100;

  template <class Run>
  static std::vector<float> scatter(std::int64_t columns, Run&& run) {
    RandomStream random(/*seed=*/8);
    std::vector<float> from(kRows * kStride);
    for (float& value : from) value = static_cast<float>(random.normal());
    std::vector<T> memory(kRows * kRowMemory, T(7.0f));
    std::vector<T*> to;
    for (const std::int64_t slot : {3, 0, 4, 1, 2}) to.push_back(memory.data() + slot * kRowMemory);
    run(ScatterRows<T>{
        .rows = kRows, .columns = columns, .from = from.data(), .stride = kStride, .to = to.data(), .offset = 9});
    return {memory.begin(), memory.end()};
  }
};

using Elements = testing::Types<float, BFloat16>;
TYPED_TEST_SUITE(ScatterRowsOf, Elements);

TYPED_TEST(ScatterRowsOf, MatchesTheReferenceInEveryBitAndWritesNothingElse) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    for (const std::int64_t columns : {1, 15, 16, 33, 64, 90}) {
      SCOPED_TRACE(std::string(instruction_set_name(set)) + ", " + std::to_string(columns));
      const auto expected = this->scatter(columns, [](const ScatterRows<TypeParam>& p) { reference::scatter_rows(p); });
      EXPECT_EQ(this->scatter(columns, [](const ScatterRows<TypeParam>& p) { scatter_rows(p); }), expected);
    }
  }
}

}  // namespace
}  // namespace edgewise::kernels
