// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/loss/paired_loss.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "edgewise/base/bfloat16.h"
#include "edgewise/base/random.h"
#include "edgewise/kernels/simd/instruction_set.h"

namespace edgewise::kernels {
namespace {

constexpr std::int64_t kPairs = 5;

struct Result {
  std::array<float, 2 * kPairs> loss;
  std::array<float, kPairs> distance;
  std::array<bool, 2 * kPairs> is_correct;
  std::vector<float> gradient;
};

/// The gradient takes the place of the logits where it is float.
template <typename Gradient>
Result run(std::int64_t words, const SmoothedTarget& target) {
  RandomStream random(/*seed=*/3);
  std::vector<float> logits(static_cast<std::size_t>(2 * kPairs * words));
  for (float& logit : logits) logit = static_cast<float>(3 * random.normal());
  std::vector<std::int64_t> labels;
  for (std::int64_t pair = 0; pair < kPairs; ++pair) labels.push_back((5 * pair + 1) % words);
  Result result;
  std::vector<Gradient> apart(logits.size());
  Gradient* gradient = apart.data();
  if constexpr (std::is_same_v<Gradient, float>) gradient = logits.data();
  paired_loss(PairedLoss<Gradient>{.pairs = kPairs,
                                   .columns = words,
                                   .logits = logits.data(),
                                   .labels = labels.data(),
                                   .target = target,
                                   .weight = 1.5f,
                                   .gradient = gradient,
                                   .loss = result.loss.data(),
                                   .distance = result.distance.data(),
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
class PairedLossOf : public testing::Test {};
using GradientTypes = testing::Types<float, BFloat16>;
TYPED_TEST_SUITE(PairedLossOf, GradientTypes);

TYPED_TEST(PairedLossOf, IsTheReferencesByEveryInstructionSet) {
  // Gradients reach 20 here: logits of a pair differ by so much.
  constexpr double kAllowed = std::is_same_v<TypeParam, float> ? 4e-6 : 0x1p-8;
  for (const std::int64_t words : {2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 1000}) {
    for (const std::int64_t ignored : {std::int64_t{-1}, std::int64_t{0}, words / 2, words - 1}) {
      SCOPED_TRACE(std::to_string(words) + " words, ignored " + std::to_string(ignored));
      const SmoothedTarget target = {0.9, 0.1 / static_cast<double>(words), -0.4, ignored};
      const ForcedInstructionSet reference(InstructionSet::kReference);
      const Result expected = run<TypeParam>(words, target);
      for (const InstructionSet set : runnable_instruction_sets()) {
        const ForcedInstructionSet forced(set);
        const Result actual = run<TypeParam>(words, target);
        EXPECT_EQ(actual.is_correct, expected.is_correct);
        expect_near(actual.loss, expected.loss);
        expect_near(actual.distance, expected.distance);
        for (std::size_t i = 0; i < expected.gradient.size(); ++i) {
          ASSERT_NEAR(actual.gradient[i], expected.gradient[i],
                      kAllowed * std::max(1.0f, std::abs(expected.gradient[i])))
              << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace edgewise::kernels
