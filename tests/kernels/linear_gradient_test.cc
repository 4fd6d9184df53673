// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gemm/linear_gradient.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "edgewise/base/bfloat16.h"
#include "tests/kernels/implementations.h"
#include "tests/kernels/random_numbers.h"

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
  std::vector<T> grad_x;
  std::vector<float> grad_bias;
};

/// Calls run(arguments) for random numbers, in Memory.
template <template <typename> class Memory, typename T, class Run>
Result<T> run_gradient(const Case& options, std::int64_t rows, std::int64_t columns, Run run) {
  std::vector<T> positive = normal_numbers<T>(rows * columns, 4);
  for (T& value : positive) value = T(std::max(0.0f, static_cast<float>(value)));
  const Memory<T> grad_out(normal_numbers<T>(rows * columns, 3));
  const Memory<T> relu_out(positive);
  Memory<T> grad_x(options.has_sums ? positive.size() : 0);
  Memory<float> grad_bias(std::vector<float>(options.has_bias ? static_cast<std::size_t>(columns) : 0, 5.0f));
  run(ActivationGradient<T>{.activation = options.is_relu ? GemmActivation::kRelu : GemmActivation::kNone,
                            .rows = rows,
                            .columns = columns,
                            .grad_out = grad_out.data(),
                            .saved = options.is_relu ? relu_out.data() : nullptr,
                            .dropout = {options.dropout, /*seed=*/11, /*stream=*/4},
                            .grad_x = options.has_sums ? grad_x.data() : nullptr,
                            .grad_bias = options.has_bias ? grad_bias.data() : nullptr});
  return {grad_x.read(), grad_bias.read()};
}

template <typename T>
Result<T> run_kernel(const Case& options, std::int64_t rows, std::int64_t columns) {
  return run_gradient<Array, T>(options, rows, columns, [](const ActivationGradient<T>& p) {
    if constexpr (kTestsGpu) {
      Array<float> workspace(static_cast<std::size_t>(gradient_workspace_size(p.rows, p.columns)));
      activation_gradient(p, p.grad_bias == nullptr ? nullptr : workspace.data(), device::Stream());
    } else {
      activation_gradient(p);
    }
  });
}

template <typename T>
Result<T> run_reference(const Case& options, std::int64_t rows, std::int64_t columns) {
  return run_gradient<HostBuffer, T>(options, rows, columns,
                                     [](const ActivationGradient<T>& p) { reference::activation_gradient(p); });
}

// Around the vectors of each instruction set and the blocks of rows; the emulator is slow.
const std::vector<std::int64_t> kRows =
    kTestsGpu ? std::vector<std::int64_t>{0, 1, 63, 129, 300} : std::vector<std::int64_t>{0, 1, 63, 64, 65, 200};
const std::vector<std::int64_t> kColumns = kTestsGpu ? std::vector<std::int64_t>{1, 3, 8, 33, 132}
                                                     : std::vector<std::int64_t>{1, 3, 7, 8, 15, 16, 17, 33, 64, 1030};

template <typename T>
class LinearGradientOf : public testing::Test {};
using ElementTypes = testing::Types<float, BFloat16>;
TYPED_TEST_SUITE(LinearGradientOf, ElementTypes);

TYPED_TEST(LinearGradientOf, MatchesTheReference) {
  for (const Case& options : all_cases()) {
    for (const std::int64_t rows : kRows) {
      for (const std::int64_t columns : kColumns) {
        SCOPED_TRACE(options.name + ", " + std::to_string(rows) + " x " + std::to_string(columns));
        const Result<TypeParam> expected = run_reference<TypeParam>(options, rows, columns);
        for_implementations([&] {
          const Result<TypeParam> actual = run_kernel<TypeParam>(options, rows, columns);
          for (std::size_t i = 0; i < expected.grad_x.size(); ++i) {
            ASSERT_EQ(static_cast<float>(actual.grad_x[i]), static_cast<float>(expected.grad_x[i])) << i;
          }
          // The sums of up to 300 numbers of size about 2 are computed in float.
          for (std::size_t i = 0; i < expected.grad_bias.size(); ++i) {
            ASSERT_NEAR(actual.grad_bias[i], expected.grad_bias[i], 1e-4) << i;
          }
        });
      }
    }
  }
}

TYPED_TEST(LinearGradientOf, GivesTheSameBitsInEverySchedule) {
  const std::int64_t rows = kTestsGpu ? 140 : 500;
  for (const Case& options : all_cases()) {
    for (const std::int64_t columns : {36, 71}) {
      const Result<TypeParam> expected = run_kernel<TypeParam>(options, rows, columns);
      for_schedules([&] {
        const Result<TypeParam> actual = run_kernel<TypeParam>(options, rows, columns);
        EXPECT_TRUE(has_same_bits(actual.grad_x, expected.grad_x)) << options.name;
        EXPECT_TRUE(has_same_bits(actual.grad_bias, expected.grad_bias)) << options.name;
      });
    }
  }
}

}  // namespace
}  // namespace edgewise::kernels
