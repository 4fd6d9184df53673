// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gemm/linear_gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "edgewise/base/bfloat16.h"
#include "edgewise/base/random.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/simd/instruction_set.h"

namespace edgewise::kernels {
namespace {

struct Case {
  std::string name;
  bool is_relu = false;
  double dropout = 0.0;
  bool has_sums = true;
  bool has_bias = true;
};

std::vector<Case> all_cases() {
  return {{.name = "sums over tokens", .has_sums = false},
          {.name = "copy", .has_bias = false},
          {.name = "ReLU", .is_relu = true},
          {.name = "ReLU, no bias", .is_relu = true, .has_bias = false},
          {.name = "dropout", .dropout = 0.4},
          {.name = "ReLU, dropout", .is_relu = true, .dropout = 0.4}};
}

template <typename T>
struct Result {
  std::vector<T> grad_sum;
  std::vector<float> grad_bias;
  bool operator==(const Result&) const = default;
};

template <typename T>
Result<T> run(const Case& options, std::int64_t rows, std::int64_t columns) {
  RandomStream random(/*seed=*/3);
  const auto size = static_cast<std::size_t>(rows * columns);
  std::vector<T> grad_out(size);
  std::vector<T> relu_out(size);
  for (T& value : grad_out) value = T(static_cast<float>(random.normal()));
  for (T& value : relu_out) value = T(std::max(0.0f, static_cast<float>(random.normal())));
  Result<T> result = {std::vector<T>(options.has_sums ? size : 0, T(std::nanf(""))),
                      std::vector<float>(options.has_bias ? columns : 0, 5.0f)};
  linear_gradient(LinearGradient<T>{.rows = rows,
                                    .columns = columns,
                                    .grad_out = grad_out.data(),
                                    .relu_out = options.is_relu ? relu_out.data() : nullptr,
                                    .dropout = {options.dropout, /*seed=*/11, /*stream=*/4},
                                    .grad_sum = options.has_sums ? result.grad_sum.data() : nullptr,
                                    .grad_bias = options.has_bias ? result.grad_bias.data() : nullptr});
  return result;
}

template <typename T>
class LinearGradientOf : public testing::Test {};
using ElementTypes = testing::Types<float, BFloat16>;
TYPED_TEST_SUITE(LinearGradientOf, ElementTypes);

TYPED_TEST(LinearGradientOf, MatchesTheReferenceOnEveryInstructionSet) {
  for (const Case& options : all_cases()) {
    for (const std::int64_t rows : {0, 1, 63, 64, 65, 200}) {
      for (const std::int64_t columns : {1, 3, 7, 8, 15, 16, 17, 33, 64, 1030}) {
        SCOPED_TRACE(options.name + ", " + std::to_string(rows) + " x " + std::to_string(columns));
        const ForcedInstructionSet reference(InstructionSet::kReference);
        const Result<TypeParam> expected = run<TypeParam>(options, rows, columns);
        for (const InstructionSet set : runnable_instruction_sets()) {
          const ForcedInstructionSet forced(set);
          const Result<TypeParam> actual = run<TypeParam>(options, rows, columns);
          for (std::size_t i = 0; i < expected.grad_sum.size(); ++i) {
            ASSERT_EQ(static_cast<float>(actual.grad_sum[i]), static_cast<float>(expected.grad_sum[i])) << i;
          }
          // The sums of up to 200 numbers of size about 2 are computed in float.
          for (std::size_t i = 0; i < expected.grad_bias.size(); ++i) {
            ASSERT_NEAR(actual.grad_bias[i], expected.grad_bias[i], 1e-4) << i;
          }
        }
      }
    }
  }
}

TYPED_TEST(LinearGradientOf, GivesTheSameBitsForAnyNumberOfThreads) {
  const int threads_before = num_threads();
  for (const Case& options : all_cases()) {
    set_num_threads(1);
    const Result<TypeParam> expected = run<TypeParam>(options, 500, 70);
    for (const int threads : {2, 3, 5}) {
      set_num_threads(threads);
      const Result<TypeParam> actual = run<TypeParam>(options, 500, 70);
      EXPECT_EQ(actual.grad_bias, expected.grad_bias) << options.name;
    }
  }
  set_num_threads(threads_before);
}

}  // namespace
}  // namespace edgewise::kernels
