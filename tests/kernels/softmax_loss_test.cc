// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/loss/softmax_loss.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "edgewise/base/bfloat16.h"
#include "edgewise/base/random.h"
#include "edgewise/kernels/simd/instruction_set.h"

namespace edgewise::kernels {
namespace {

constexpr std::int64_t kRows = 9;

struct Result {
  std::array<float, kRows> loss;
  std::array<bool, kRows> is_correct;
  std::vector<float> gradient;
};

std::vector<float> random_logits(std::int64_t words) {
  RandomStream random(/*seed=*/2);
  std::vector<float> logits(static_cast<std::size_t>(kRows * words));
  for (float& logit : logits) logit = static_cast<float>(4 * random.normal());
  return logits;
}

std::vector<std::int64_t> some_labels(std::int64_t words) {
  std::vector<std::int64_t> labels;
  for (std::int64_t row = 0; row < kRows; ++row) labels.push_back((5 * row + 1) % words);
  return labels;
}

/// The gradient takes the place of the logits where it is float.
template <typename Gradient>
Result run(std::vector<float> logits, std::int64_t words, const SmoothedTarget& target) {
  const std::vector<std::int64_t> labels = some_labels(words);
  Result result;
  std::vector<Gradient> apart(logits.size());
  Gradient* gradient = apart.data();
  if constexpr (std::is_same_v<Gradient, float>) gradient = logits.data();
  softmax_loss(SoftmaxLoss<Gradient>{.rows = kRows,
                                     .columns = words,
                                     .logits = logits.data(),
                                     .labels = labels.data(),
                                     .target = target,
                                     .gradient = gradient,
                                     .loss = result.loss.data(),
                                     .is_correct = result.is_correct.data()});
  result.gradient.assign(gradient, gradient + logits.size());
  return result;
}

std::vector<SmoothedTarget> targets(std::int64_t words) {
  std::vector<SmoothedTarget> found = {{1.0, 0.0, 0.0, -1}};
  for (const std::int64_t ignored : {std::int64_t{-1}, std::int64_t{0}, words / 2, words - 1}) {
    const std::int64_t others = words - 1 - (ignored >= 0 ? 1 : 0);
    if (others > 0) found.push_back({0.9, 0.1 / static_cast<double>(others), -0.4, ignored});
  }
  return found;
}

template <typename Gradient>
class SoftmaxLossOf : public testing::Test {};
using GradientTypes = testing::Types<float, BFloat16>;
TYPED_TEST_SUITE(SoftmaxLossOf, GradientTypes);

TYPED_TEST(SoftmaxLossOf, IsTheReferencesByEveryInstructionSet) {
  // The rounding of a probability to bf16, or float's sums over a thousand words.
  constexpr double kAllowed = std::is_same_v<TypeParam, float> ? 2e-6 : 0x1p-9;
  for (const std::int64_t words : {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 1000}) {
    for (const SmoothedTarget& target : targets(words)) {
      SCOPED_TRACE(std::to_string(words) + " words, ignored " + std::to_string(target.ignored));
      const ForcedInstructionSet reference(InstructionSet::kReference);
      const Result expected = run<TypeParam>(random_logits(words), words, target);
      for (const InstructionSet set : runnable_instruction_sets()) {
        const ForcedInstructionSet forced(set);
        const Result actual = run<TypeParam>(random_logits(words), words, target);
        EXPECT_EQ(actual.is_correct, expected.is_correct);
        for (std::int64_t row = 0; row < kRows; ++row) {
          ASSERT_NEAR(actual.loss[row], expected.loss[row], 2e-6 * std::max(10.0f, std::abs(expected.loss[row])));
        }
        for (std::size_t i = 0; i < expected.gradient.size(); ++i) {
          ASSERT_NEAR(actual.gradient[i], expected.gradient[i], kAllowed) << i;
        }
      }
    }
  }
}

TEST(SoftmaxLoss, TakesTheFirstOfEquallyLikelyWords) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    const Result result =
        run<float>(std::vector<float>(kRows * 6), 6, {1.0, 0.0, 0.0, -1});  // labels 1 0 5 4 3 2 1 0 5

    EXPECT_EQ(result.is_correct, (std::array{false, true, false, false, false, false, false, true, false}));
  }
}

TEST(SoftmaxLoss, StandsAWordThatTheModelRulesOut) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    std::vector<float> logits = random_logits(20);
    for (std::int64_t row = 0; row < kRows; ++row) logits[row * 20 + 3] = -kInfinity;

    const Result result = run<float>(logits, 20, {0.9, 0.1 / 18, 0.0, 3});

    for (const float loss : result.loss) EXPECT_TRUE(std::isfinite(loss));
    for (const float gradient : result.gradient) EXPECT_TRUE(std::isfinite(gradient));
    EXPECT_EQ(result.gradient[3], 0.0f);
  }
}

TEST(SoftmaxLoss, IsNotANumberForALogitThatIsNone) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    for (const std::int64_t word : {0, 5, 19}) {
      std::vector<float> logits = random_logits(20);
      logits[word] = std::numeric_limits<float>::quiet_NaN();

      const Result result = run<float>(logits, 20, {1.0, 0.0, 0.0, -1});

      EXPECT_TRUE(std::isnan(result.loss[0])) << instruction_set_name(set);
      EXPECT_TRUE(std::isnan(result.gradient[7])) << instruction_set_name(set);
      EXPECT_TRUE(std::isfinite(result.loss[1]));
    }
  }
}

}  // namespace
}  // namespace edgewise::kernels
