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
#include "tests/kernels/not_written.h"

namespace edgewise::kernels {
namespace {

constexpr std::int64_t kRows = 9;

struct Result {
  std::array<float, kRows> loss;
  std::array<bool, kRows> is_correct;
  std::vector<float> gradient;
};

std::vector<float> draw_logits(std::int64_t vocabulary) {
  RandomStream random(/*seed=*/2);
  std::vector<float> logits(static_cast<std::size_t>(kRows * vocabulary));
  for (float& logit : logits) logit = static_cast<float>(4 * random.normal());
  return logits;
}

std::vector<std::int64_t> make_labels(std::int64_t vocabulary) {
  std::vector<std::int64_t> labels;
  for (std::int64_t row = 0; row < kRows; ++row) labels.push_back((5 * row + 1) % vocabulary);
  return labels;
}

/// Runs the loss. A float gradient overwrites the logits.
template <typename Gradient>
Result run(std::vector<float> logits, std::int64_t vocabulary, const SmoothedTarget& target) {
  const std::vector<std::int64_t> labels = make_labels(vocabulary);
  Result result;
  auto separate = not_written<Gradient>(logits.size());
  Gradient* gradient = separate.data();
  if constexpr (std::is_same_v<Gradient, float>) gradient = logits.data();
  softmax_loss(SoftmaxLoss<Gradient>{.rows = kRows,
                                     .columns = vocabulary,
                                     .logits = logits.data(),
                                     .labels = labels.data(),
                                     .target = target,
                                     .gradient = gradient,
                                     .loss = result.loss.data(),
                                     .is_correct = result.is_correct.data()});
  result.gradient.assign(gradient, gradient + logits.size());
  return result;
}

std::vector<SmoothedTarget> make_targets(std::int64_t vocabulary) {
  std::vector<SmoothedTarget> targets = {{1.0, 0.0, 0.0, -1}};
  for (const std::int64_t ignored : {std::int64_t{-1}, std::int64_t{0}, vocabulary / 2, vocabulary - 1}) {
    const std::int64_t others = vocabulary - 1 - (ignored >= 0 ? 1 : 0);
    if (others > 0) targets.push_back({0.9, 0.1 / static_cast<double>(others), -0.4, ignored});
  }
  return targets;
}

template <typename Gradient>
class SoftmaxLossOf : public testing::Test {};
using GradientTypes = testing::Types<float, BFloat16>;
TYPED_TEST_SUITE(SoftmaxLossOf, GradientTypes);

TYPED_TEST(SoftmaxLossOf, MatchesTheReferenceOnEveryInstructionSet) {
  constexpr double kRounding = std::is_same_v<TypeParam, float> ? 0 : 0x1p-8;
  constexpr double kSumError = 2e-6;  // of a probability, at most 1, from float sums over a thousand tokens
  for (const std::int64_t vocabulary : {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 1000}) {
    for (const SmoothedTarget& target : make_targets(vocabulary)) {
      SCOPED_TRACE(std::to_string(vocabulary) + " tokens, ignored " + std::to_string(target.ignored_token));
      const ForcedInstructionSet reference(InstructionSet::kReference);
      const Result expected = run<float>(draw_logits(vocabulary), vocabulary, target);
      for (const InstructionSet set : runnable_instruction_sets()) {
        const ForcedInstructionSet forced(set);
        const Result actual = run<TypeParam>(draw_logits(vocabulary), vocabulary, target);
        EXPECT_EQ(actual.is_correct, expected.is_correct);
        for (std::int64_t row = 0; row < kRows; ++row) {
          ASSERT_NEAR(actual.loss[row], expected.loss[row], 2e-6 * std::max(10.0f, std::abs(expected.loss[row])));
        }
        for (std::size_t i = 0; i < expected.gradient.size(); ++i) {
          ASSERT_NEAR(actual.gradient[i], expected.gradient[i], kRounding * std::abs(expected.gradient[i]) + kSumError)
              << i;
        }
      }
    }
  }
}

TEST(SoftmaxLoss, CountsTheFirstOfEquallyProbableTokensAsThePrediction) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    const Result result =
        run<float>(std::vector<float>(kRows * 6), 6, {1.0, 0.0, 0.0, -1});  // labels 1 0 5 4 3 2 1 0 5

    EXPECT_EQ(result.is_correct, (std::array{false, true, false, false, false, false, false, true, false}));
  }
}

TEST(SoftmaxLoss, IsFiniteForAnIgnoredTokenWithALogitOfMinusInfinity) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    std::vector<float> logits = draw_logits(20);
    for (std::int64_t row = 0; row < kRows; ++row) logits[row * 20 + 3] = -kInfinity;

    const Result result = run<float>(logits, 20, {0.9, 0.1 / 18, 0.0, 3});

    for (const float loss : result.loss) EXPECT_TRUE(std::isfinite(loss));
    for (const float gradient : result.gradient) EXPECT_TRUE(std::isfinite(gradient));
    EXPECT_EQ(result.gradient[3], 0.0f);
  }
}

TEST(SoftmaxLoss, IsNaNInTheRowOfALogitThatIsNaN) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    for (const std::int64_t token : {0, 5, 19}) {
      std::vector<float> logits = draw_logits(20);
      logits[token] = std::numeric_limits<float>::quiet_NaN();

      const Result result = run<float>(logits, 20, {1.0, 0.0, 0.0, -1});

      EXPECT_TRUE(std::isnan(result.loss[0])) << instruction_set_name(set);
      EXPECT_TRUE(std::isnan(result.gradient[7])) << instruction_set_name(set);
      EXPECT_TRUE(std::isfinite(result.loss[1]));
    }
  }
}

}  // namespace
}  // namespace edgewise::kernels
