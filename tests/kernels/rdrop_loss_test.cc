// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/loss/rdrop_loss.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "edgewise/base/bfloat16.h"
#include "edgewise/base/random.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "tests/kernels/not_written.h"

namespace edgewise::kernels {
namespace {

constexpr std::int64_t kPairs = 5;

struct Result {
  std::array<float, 2 * kPairs> loss;
  std::array<float, kPairs> divergence;
  std::array<bool, 2 * kPairs> is_correct;
  std::vector<float> gradient;
};

/// Runs the loss. A float gradient overwrites the logits.
template <typename Gradient>
Result run(std::int64_t vocabulary, const SmoothedTarget& target) {
  RandomStream random(/*seed=*/3);
  std::vector<float> logits(static_cast<std::size_t>(2 * kPairs * vocabulary));
  for (float& logit : logits) logit = static_cast<float>(3 * random.normal());
  std::vector<std::int64_t> labels;
  for (std::int64_t pair = 0; pair < kPairs; ++pair) labels.push_back((5 * pair + 1) % vocabulary);
  Result result;
  auto separate = not_written<Gradient>(logits.size());
  Gradient* gradient = separate.data();
  if constexpr (std::is_same_v<Gradient, float>) gradient = logits.data();
  rdrop_loss(RDropLoss<Gradient>{.pairs = kPairs,
                                 .columns = vocabulary,
                                 .logits = logits.data(),
                                 .labels = labels.data(),
                                 .target = target,
                                 .divergence_weight = 1.5f,
                                 .gradient = gradient,
                                 .loss = result.loss.data(),
                                 .divergence = result.divergence.data(),
                                 .is_correct = result.is_correct.data()});
  result.gradient.assign(gradient, gradient + logits.size());
  return result;
}

template <std::size_t n>
void expect_near(const std::array<float, n>& actual, const std::array<float, n>& expected) {
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_NEAR(actual[i], expected[i], 3e-6 * std::max(10.0f, std::abs(expected[i]))) << i;
  }
}

template <typename Gradient>
class RDropLossOf : public testing::Test {};
using GradientTypes = testing::Types<float, BFloat16>;
TYPED_TEST_SUITE(RDropLossOf, GradientTypes);

TYPED_TEST(RDropLossOf, MatchesTheReferenceOnEveryInstructionSet) {
  constexpr double kRounding = std::is_same_v<TypeParam, float> ? 0 : 0x1p-8;
  // The sums of a gradient reach 20 in this test, because the logits of a pair differ by about as much.
  constexpr double kSumError = 4e-6;
  for (const std::int64_t vocabulary : {2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 1000}) {
    for (const std::int64_t ignored : {std::int64_t{-1}, std::int64_t{0}, vocabulary / 2, vocabulary - 1}) {
      SCOPED_TRACE(std::to_string(vocabulary) + " tokens, ignored " + std::to_string(ignored));
      const SmoothedTarget target = {0.9, 0.1 / static_cast<double>(vocabulary), -0.4, ignored};
      const ForcedInstructionSet reference(InstructionSet::kReference);
      const Result expected = run<float>(vocabulary, target);
      for (const InstructionSet set : runnable_instruction_sets()) {
        const ForcedInstructionSet forced(set);
        const Result actual = run<TypeParam>(vocabulary, target);
        EXPECT_EQ(actual.is_correct, expected.is_correct);
        expect_near(actual.loss, expected.loss);
        expect_near(actual.divergence, expected.divergence);
        for (std::size_t i = 0; i < expected.gradient.size(); ++i) {
          const double size = std::abs(expected.gradient[i]);
          ASSERT_NEAR(actual.gradient[i], expected.gradient[i], kRounding * size + kSumError * std::max(1.0, size))
              << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace edgewise::kernels
