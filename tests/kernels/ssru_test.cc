// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/recurrence/ssru.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "tests/kernels/not_written.h"
#include "tests/kernels/random_numbers.h"

namespace edgewise::kernels {
namespace {

/// Texts of 1, 5, 1 and 3 rows.
constexpr std::int64_t kRows = 10;
const std::vector<std::uint8_t> kContinues = {0, 0, 1, 1, 1, 1, 0, 0, 1, 1};

template <typename T>
struct SsruProblem {
  explicit SsruProblem(std::int64_t columns)
      : size(columns),
        forget(normal_numbers<T>(kRows * (2 * columns + 3), 1)),
        grad_out(normal_numbers<T>(kRows * columns, 2)) {}

  struct Results {
    std::vector<float> state;
    std::vector<T> out, grad_forget, grad_input;
  };

  /// Gates and inputs lie in one matrix, as the runtime has them; those of gradients have matrices of their own.
  Results run(void (*forward)(const SsruRows<T>&), void (*backward)(const SsruGradient<T>&)) const {
    const auto count = static_cast<std::size_t>(kRows * size);
    Results results = {not_written<float>(count), not_written<T>(count), not_written<T>(count), not_written<T>(count)};
    std::vector<const float*> before;
    std::vector<float*> states;
    for (std::size_t row = 0; row < kContinues.size(); ++row) {
      states.push_back(results.state.data() + static_cast<std::int64_t>(row) * size);
      before.push_back(kContinues[row] != 0 ? states.back() - size : nullptr);
    }
    const std::int64_t stride = 2 * size + 3;
    forward({.rows = kRows,
             .columns = size,
             .stride = stride,
             .forget = forget.data(),
             .input = forget.data() + size,
             .before = before.data(),
             .state = states.data(),
             .out = results.out.data()});
    std::vector<T> gates, inputs;
    for (std::int64_t row = 0; row < kRows; ++row) {
      const auto begin = forget.begin() + row * stride;
      gates.insert(gates.end(), begin, begin + size);
      inputs.insert(inputs.end(), begin + size, begin + 2 * size);
    }
    backward({.rows = kRows,
              .columns = size,
              .forget = gates.data(),
              .input = inputs.data(),
              .state = results.state.data(),
              .continues = kContinues.data(),
              .grad_out = grad_out.data(),
              .grad_forget = results.grad_forget.data(),
              .grad_input = results.grad_input.data()});
    return results;
  }

  std::int64_t size;
  std::vector<T> forget, grad_out;
};

template <typename T>
void expect_close_to(const std::vector<T>& actual, const std::vector<T>& expected, const char* what) {
  const double rounding = std::is_same_v<T, float> ? 1e-5 : 0x1p-7;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double value = static_cast<float>(expected[i]);
    ASSERT_NEAR(static_cast<float>(actual[i]), value, rounding * (std::abs(value) + 0.1)) << what << " " << i;
  }
}

template <typename T>
class SsruOf : public testing::Test {};
using ElementTypes = testing::Types<float, BFloat16>;
TYPED_TEST_SUITE(SsruOf, ElementTypes);

TYPED_TEST(SsruOf, MatchesTheReferenceOnEveryInstructionSet) {
  using T = TypeParam;
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    for (const std::int64_t size : {1, 7, 8, 9, 15, 16, 17, 33, 64, 65, 130}) {
      SCOPED_TRACE(std::string(instruction_set_name(set)) + ", " + std::to_string(size));
      const SsruProblem<T> problem(size);
      const auto actual = problem.run(ssru<T>, ssru_gradient<T>);
      const auto expected = problem.run(reference::ssru<T>, reference::ssru_gradient<T>);
      expect_close_to(actual.state, expected.state, "state");
      expect_close_to(actual.out, expected.out, "output");
      expect_close_to(actual.grad_forget, expected.grad_forget, "gradient of the gate");
      expect_close_to(actual.grad_input, expected.grad_input, "gradient of the input");
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(SsruOf, HasTheSameBitsOnAnyNumberOfThreads) {
  using T = TypeParam;
  const SsruProblem<T> problem(1100);
  const auto run = [&](int threads) {
    const NumThreadsScope scope(threads);
    return problem.run(ssru<T>, ssru_gradient<T>);
  };
  const auto one = run(1);
  const auto three = run(3);
  EXPECT_TRUE(has_same_bits(one.state, three.state));
  EXPECT_TRUE(has_same_bits(one.out, three.out));
  EXPECT_TRUE(has_same_bits(one.grad_forget, three.grad_forget));
  EXPECT_TRUE(has_same_bits(one.grad_input, three.grad_input));
}

TEST(Ssru, ReadsTheStateThatTheCallerGivesForEachRow) {
  const std::vector<float> forget(6, 0.0f);  // gates of one half
  const std::vector<float> input = {2, 4, -8, 1, 1, 1};
  const std::vector<float> first = {6, 0};
  auto states = not_written<float>(6);
  auto out = not_written<float>(6);
  const std::vector<const float*> before = {first.data(), nullptr, states.data()};  // a tree: row 2 continues row 0
  const std::vector<float*> state = {states.data(), states.data() + 2, states.data() + 4};
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    ssru(SsruRows<float>{.rows = 3,
                         .columns = 2,
                         .stride = 2,
                         .forget = forget.data(),
                         .input = input.data(),
                         .before = before.data(),
                         .state = state.data(),
                         .out = out.data()});
    EXPECT_EQ(states, (std::vector<float>{4, 2, -4, 0.5, 2.5, 1.5}));
    EXPECT_EQ(out, (std::vector<float>{4, 2, 0, 0.5, 2.5, 1.5}));
  }
}

}  // namespace
}  // namespace edgewise::kernels
