// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gemm/gated_activation.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "edgewise/base/bfloat16.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "tests/kernels/near.h"
#include "tests/kernels/not_written.h"
#include "tests/kernels/random_numbers.h"

namespace edgewise::kernels {
namespace {

template <typename T>
struct Results {
  std::vector<T> out, grad_gate, grad_x;
};

/// Random arguments; every 40th gate is large.
template <typename T>
class Problem {
 public:
  Problem(GemmActivation activation, std::int64_t count, double dropout)
      : activation_(activation),
        dropout_({dropout, 7, 8}),
        gate_(normal_numbers<T>(count, 1)),
        x_(normal_numbers<T>(count, 2)),
        grad_out_(normal_numbers<T>(count, 3)) {
    for (std::size_t i = 0; i < gate_.size(); i += 40) gate_[i] = T(i % 80 == 0 ? 1e20f : -1e20f);
  }

  template <class Forward, class Backward>
  Results<T> run(Forward forward, Backward backward) const {
    const std::size_t size = gate_.size();
    Results<T> r = {not_written<T>(size), not_written<T>(size), not_written<T>(size)};
    const auto count = static_cast<std::int64_t>(size);
    forward(GatedActivation<T>{activation_, count, gate_.data(), x_.data(), r.out.data(), dropout_});
    backward(GatedActivationGradient<T>{activation_, count, gate_.data(), x_.data(), grad_out_.data(),
                                        r.grad_gate.data(), r.grad_x.data(), dropout_});
    return r;
  }

 private:
  GemmActivation activation_;
  Dropout dropout_;
  std::vector<T> gate_, x_, grad_out_;
};

/// Allows the rounding of both results to T, and the error of a sum of a few floats.
template <typename T>
void expect_near_reference(const std::vector<T>& actual, const std::vector<T>& expected, const std::string& what) {
  const double rounding = std::is_same_v<T, float> ? 2e-6 : 0x1p-7;
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double value = static_cast<float>(expected[i]);
    ASSERT_NEAR(static_cast<float>(actual[i]), value, rounding * std::abs(value) + 1e-6) << what << " " << i;
  }
}

template <typename T>
class GatedActivationOf : public testing::Test {};
using ElementTypes = testing::Types<float, BFloat16>;
TYPED_TEST_SUITE(GatedActivationOf, ElementTypes);

TYPED_TEST(GatedActivationOf, MatchesTheReferenceOnEveryInstructionSet) {
  using T = TypeParam;
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    for (const auto activation : {GemmActivation::kNone, GemmActivation::kRelu, GemmActivation::kGelu,
                                  GemmActivation::kSilu, GemmActivation::kGeluTanh}) {
      for (const std::int64_t count : {0, 1, 7, 8, 9, 15, 16, 17, 33, 1100, 9001}) {
        for (const double dropout : {0.0, 0.3}) {
          SCOPED_TRACE(std::string(instruction_set_name(set)) + ", activation " +
                       std::to_string(static_cast<int>(activation)) + ", " + std::to_string(count));
          const Problem<T> problem(activation, count, dropout);
          const auto actual = problem.run([](const auto& p) { gated_activation(p); },
                                          [](const auto& p) { gated_activation_gradient(p); });
          const auto expected = problem.run([](const auto& p) { reference::gated_activation(p); },
                                            [](const auto& p) { reference::gated_activation_gradient(p); });
          expect_near_reference(actual.out, expected.out, "output");
          expect_near_reference(actual.grad_gate, expected.grad_gate, "gradient of the gate");
          expect_near_reference(actual.grad_x, expected.grad_x, "gradient of x");
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace edgewise::kernels
