// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/loss/softmax_loss.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "edgewise/base/bfloat16.h"
#include "edgewise/base/random.h"
#include "tests/kernels/implementations.h"

namespace edgewise::kernels {
namespace {

struct LossProblem {
  std::int64_t rows;  // pairs for two passes
  std::int64_t vocabulary;
  SmoothedTarget target;
  std::vector<float> logits;
  std::vector<std::int64_t> labels;
  float divergence_weight = 1.5f;
  ConsistencyKind kind = ConsistencyKind::kRDrop;
};

LossProblem make_problem(std::int64_t rows, std::int64_t vocabulary, const SmoothedTarget& target, int passes = 1) {
  RandomStream random(/*seed=*/2);
  LossProblem problem = {rows, vocabulary, target, {}, {}};
  for (std::int64_t i = 0; i < passes * rows * vocabulary; ++i) {
    problem.logits.push_back(static_cast<float>((passes == 1 ? 4 : 3) * random.normal()));
  }
  for (std::int64_t row = 0; row < rows; ++row) problem.labels.push_back((5 * row + 1) % vocabulary);
  return problem;
}

/// The results of a loss. Numbers that no kernel writes are NaN, and 255 in `is_correct`.
struct LossResult {
  std::vector<float> loss, divergence;
  std::vector<std::uint8_t> is_correct;
  std::vector<float> gradient;

  friend bool operator==(const LossResult&, const LossResult&) = default;
};

template <typename T>
std::vector<float> as_floats(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}

/// Calls run() with the arguments for a problem, in Memory. A float gradient overwrites the logits.
template <template <typename> class Memory, typename Gradient, class Run>
LossResult run_loss(const LossProblem& problem, std::size_t num_rows, bool has_gradient, Run&& run) {
  Memory<float> logits(problem.logits);
  const Memory<std::int64_t> labels(problem.labels);
  Memory<Gradient> separate(std::is_same_v<Gradient, float> ? 0 : problem.logits.size());
  Memory<float> loss(num_rows);
  Memory<float> divergence(problem.labels.size());
  Memory<std::uint8_t> is_correct(num_rows);
  Gradient* gradient = separate.data();
  if constexpr (std::is_same_v<Gradient, float>) gradient = logits.data();
  run(logits.data(), labels.data(), has_gradient ? gradient : nullptr, loss.data(), divergence.data(),
      reinterpret_cast<bool*>(is_correct.data()));
  LossResult result = {loss.read(), divergence.read(), is_correct.read(), {}};
  if (!has_gradient) return result;
  if constexpr (std::is_same_v<Gradient, float>) {
    result.gradient = logits.read();
  } else {
    result.gradient = as_floats(separate.read());
  }
  return result;
}

/// Runs softmax_loss() by `run`, which is the reference or the kernel.
template <template <typename> class Memory, typename Gradient, class Run>
LossResult run_softmax(const LossProblem& problem, bool has_gradient, Run&& run) {
  LossResult result = run_loss<Memory, Gradient>(
      problem, problem.labels.size(), has_gradient,
      [&](float* logits, const std::int64_t* labels, Gradient* gradient, float* loss, float*, bool* is_correct) {
        run(SoftmaxLoss<Gradient>{.rows = problem.rows,
                                  .columns = problem.vocabulary,
                                  .logits = logits,
                                  .labels = labels,
                                  .target = problem.target,
                                  .gradient = gradient,
                                  .loss = loss,
                                  .is_correct = is_correct});
      });
  result.divergence.clear();
  return result;
}

template <typename Gradient>
LossResult softmax(const LossProblem& problem, bool has_gradient = true) {
  return run_softmax<Array, Gradient>(
      problem, has_gradient, [](const auto& p) { call_kernel([&](auto... stream) { softmax_loss(p, stream...); }); });
}

LossResult softmax_reference(const LossProblem& problem) {
  return run_softmax<HostBuffer, float>(problem, true, [](const auto& p) { reference::softmax_loss(p); });
}

template <template <typename> class Memory, typename Gradient, class Run>
LossResult run_consistency(const LossProblem& problem, bool has_gradient, Run&& run) {
  return run_loss<Memory, Gradient>(problem, 2 * problem.labels.size(), has_gradient,
                                    [&](float* logits, const std::int64_t* labels, Gradient* gradient, float* loss,
                                        float* divergence, bool* is_correct) {
                                      run(ConsistencyLoss<Gradient>{.pairs = problem.rows,
                                                                    .columns = problem.vocabulary,
                                                                    .logits = logits,
                                                                    .labels = labels,
                                                                    .target = problem.target,
                                                                    .kind = problem.kind,
                                                                    .divergence_weight = problem.divergence_weight,
                                                                    .gradient = gradient,
                                                                    .loss = loss,
                                                                    .divergence = divergence,
                                                                    .is_correct = is_correct});
                                    });
}

template <typename Gradient>
LossResult consistency(const LossProblem& problem, bool has_gradient = true) {
  return run_consistency<Array, Gradient>(problem, has_gradient, [](const auto& p) {
    call_kernel([&](auto... stream) { consistency_loss(p, stream...); });
  });
}

LossResult consistency_reference(const LossProblem& problem) {
  return run_consistency<HostBuffer, float>(problem, true, [](const auto& p) { reference::consistency_loss(p); });
}

// The error of a loss: the logarithm of a sum up to 2^20 is at most 20 in base 2, with a relative error of 2^-22, and
// sums of floats have a similar error.
void expect_near(const std::vector<float>& actual, const std::vector<float>& expected, const char* what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], 3e-6 * std::max(10.0f, std::abs(expected[i]))) << what << " " << i;
  }
}

/// `gradient_error` is the error of the parts of a gradient that are computed in float, of about 1 or `gradient`.
template <typename Gradient>
void expect_loss_near(const LossResult& actual, const LossResult& expected, double gradient_error) {
  constexpr double kRounding = std::is_same_v<Gradient, float> ? 0 : 0x1p-8;
  EXPECT_EQ(actual.is_correct, expected.is_correct);
  expect_near(actual.loss, expected.loss, "loss");
  expect_near(actual.divergence, expected.divergence, "divergence");
  ASSERT_EQ(actual.gradient.size(), expected.gradient.size());
  for (std::size_t i = 0; i < expected.gradient.size(); ++i) {
    const double size = std::abs(expected.gradient[i]);
    ASSERT_NEAR(actual.gradient[i], expected.gradient[i], kRounding * size + gradient_error * std::max(1.0, size))
        << "gradient " << i;
  }
}

// A probability p = exp(x) / sum, at most 1, has the errors 2^-22 p (1 + |x|) of exp(), which is largest at x = -1, the
// same of the sum, and errors of sums of floats.
constexpr double kProbabilityError = 2e-6;
// The terms of the gradient of a divergence are probabilities times differences of logits, which reach 20 in this test.
constexpr double kDivergenceError = 4e-6;

std::vector<SmoothedTarget> make_targets(std::int64_t vocabulary) {
  std::vector<SmoothedTarget> targets = {{1.0, 0.0, 0.0, -1}};
  for (const std::int64_t ignored : {std::int64_t{-1}, std::int64_t{0}, vocabulary / 2, vocabulary - 1}) {
    const std::int64_t others = vocabulary - 1 - (ignored >= 0 ? 1 : 0);
    if (others > 0) targets.push_back({0.9, 0.1 / static_cast<double>(others), -0.4, ignored});
  }
  return targets;
}

constexpr ConsistencyKind kConsistencyKinds[] = {ConsistencyKind::kRDrop, ConsistencyKind::kSimCut};

template <typename Gradient>
class Loss : public testing::Test {};
using GradientTypes = testing::Types<float, BFloat16>;
TYPED_TEST_SUITE(Loss, GradientTypes);

// Around the vectors of each instruction set, and the quads and threads of a block; the emulator is slow.
const std::vector<std::int64_t> kVocabularies =
    kTestsGpu ? std::vector<std::int64_t>{1, 2, 3, 7, 8, 65, 1001, 4107}
              : std::vector<std::int64_t>{1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 1000};

TYPED_TEST(Loss, MatchesTheReferenceForAnyNumberOfTokens) {
  for (const std::int64_t vocabulary : kVocabularies) {
    for (const SmoothedTarget& target : make_targets(vocabulary)) {
      SCOPED_TRACE(std::to_string(vocabulary) + " tokens, ignored " + std::to_string(target.ignored_token));
      const LossProblem problem = make_problem(4, vocabulary, target);  // rows of each alignment
      const LossResult expected = softmax_reference(problem);
      for_implementations(
          [&] { expect_loss_near<TypeParam>(softmax<TypeParam>(problem), expected, kProbabilityError); });
    }
  }
}

TYPED_TEST(Loss, OfPairsMatchesTheReferenceForAnyNumberOfTokens) {
  for (const std::int64_t vocabulary : kVocabularies) {
    if (vocabulary == 1) continue;  // the target has no other token
    for (const SmoothedTarget& target : make_targets(vocabulary)) {
      for (const std::int64_t pairs : {1, 4}) {  // rows of a pair are aligned alike if the number of pairs is 4
        SCOPED_TRACE(std::to_string(vocabulary) + " tokens, ignored " + std::to_string(target.ignored_token));
        LossProblem problem = make_problem(pairs, vocabulary, target, /*passes=*/2);
        for (const ConsistencyKind kind : kConsistencyKinds) {
          problem.kind = kind;
          const LossResult expected = consistency_reference(problem);
          for_implementations(
              [&] { expect_loss_near<TypeParam>(consistency<TypeParam>(problem), expected, kDivergenceError); });
        }
      }
    }
  }
}

TYPED_TEST(Loss, GivesTheSameBitsInEverySchedule) {
  const SmoothedTarget target = {0.9, 0.1 / 9998, -0.4, 6};
  const LossProblem rows = make_problem(2, 10000, target);
  LossProblem pairs = make_problem(2, 10000, target, /*passes=*/2);
  const LossResult expected_rows = softmax<TypeParam>(rows);
  for_schedules([&] { EXPECT_TRUE(softmax<TypeParam>(rows) == expected_rows); });
  for (const ConsistencyKind kind : kConsistencyKinds) {
    pairs.kind = kind;
    const LossResult expected_pairs = consistency<TypeParam>(pairs);
    for_schedules([&] { EXPECT_TRUE(consistency<TypeParam>(pairs) == expected_pairs); });
  }
}

TYPED_TEST(Loss, HasTheSameBitsWithoutAGradient) {
  for_implementations([] {
    LossProblem problem = make_problem(4, 37, {0.9, 0.1 / 35, -0.4, 6}, /*passes=*/2);
    for (const ConsistencyKind kind : kConsistencyKinds) {
      problem.kind = kind;
      LossResult expected = consistency<TypeParam>(problem);
      expected.gradient.clear();
      EXPECT_TRUE(consistency<TypeParam>(problem, /*has_gradient=*/false) == expected);
    }

    problem.logits.resize(4 * 37);
    LossResult expected = softmax<TypeParam>(problem);
    expected.gradient.clear();
    EXPECT_TRUE(softmax<TypeParam>(problem, /*has_gradient=*/false) == expected);
  });
}

TEST(ConsistencyLoss, OfSimCutHasTheLossOfTheFirstRowsAndADivergenceOfZeroFromThemselves) {
  LossProblem problem = make_problem(3, 20, {0.9, 0.1 / 19, -0.4, -1});
  const LossResult once = softmax_reference(problem);
  problem.logits.insert(problem.logits.end(), problem.logits.begin(), problem.logits.begin() + 3 * 20);
  problem.kind = ConsistencyKind::kSimCut;
  for_implementations([&] {
    const LossResult twice = consistency<float>(problem);
    expect_near({twice.loss.begin(), twice.loss.begin() + 3}, once.loss, "loss");
    EXPECT_EQ(std::vector<float>(twice.loss.begin() + 3, twice.loss.end()), std::vector<float>(3));
    EXPECT_EQ(std::vector<std::uint8_t>(twice.is_correct.begin() + 3, twice.is_correct.end()),
              std::vector<std::uint8_t>(3));
    EXPECT_EQ(twice.divergence, std::vector<float>(3));
    expect_near({twice.gradient.begin() + 3 * 20, twice.gradient.end()}, std::vector<float>(3 * 20), "gradient");
  });
}

TEST(SoftmaxLoss, CountsTheFirstOfEquallyProbableTokensAsThePrediction) {
  LossProblem problem = make_problem(9, 6, {1.0, 0.0, 0.0, -1});  // labels 1 0 5 4 3 2 1 0 5
  std::fill(problem.logits.begin(), problem.logits.end(), 0.0f);
  for_implementations([&] {
    EXPECT_EQ(softmax<float>(problem).is_correct, (std::vector<std::uint8_t>{0, 1, 0, 0, 0, 0, 0, 1, 0}));
  });
}

TEST(SoftmaxLoss, IsFiniteForAnIgnoredTokenWithALogitOfMinusInfinity) {
  LossProblem problem = make_problem(9, 20, {0.9, 0.1 / 18, 0.0, 3});
  for (std::size_t row = 0; row < 9; ++row) problem.logits[row * 20 + 3] = -std::numeric_limits<float>::infinity();
  for_implementations([&] {
    const LossResult result = softmax<float>(problem);

    for (const float loss : result.loss) EXPECT_TRUE(std::isfinite(loss));
    for (const float gradient : result.gradient) EXPECT_TRUE(std::isfinite(gradient));
    EXPECT_EQ(result.gradient[3], 0.0f);
  });
}

TEST(SoftmaxLoss, IsNaNInTheRowOfALogitThatIsNaN) {
  for_implementations([] {
    for (const std::size_t token : {0, 5, 19}) {
      LossProblem problem = make_problem(9, 20, {1.0, 0.0, 0.0, -1});
      problem.logits[token] = std::numeric_limits<float>::quiet_NaN();

      const LossResult result = softmax<float>(problem);

      EXPECT_TRUE(std::isnan(result.loss[0]));
      EXPECT_TRUE(std::isnan(result.gradient[7]));
      EXPECT_TRUE(std::isfinite(result.loss[1]));
    }
  });
}

TEST(SoftmaxLoss, SumsLargeLogitsAsPreciselyAsSmallOnes) {
  LossProblem problem = make_problem(3, 500, {0.9, 0.1 / 499, -0.4, -1});
  for (float& logit : problem.logits) logit = std::round(logit * 16) / 16;
  const LossResult expected = softmax_reference(problem);
  for (float& logit : problem.logits) logit += 1e5f;  // exact in float
  for_implementations([&] { expect_loss_near<float>(softmax<float>(problem), expected, kProbabilityError); });
}

TEST(SoftmaxLoss, DoesNothingWithoutRows) {
  for_implementations([] {
    EXPECT_TRUE(softmax<float>(make_problem(0, 10, {1.0, 0.0, 0.0, -1})) == LossResult());
    EXPECT_TRUE(consistency<float>(make_problem(0, 10, {1.0, 0.0, 0.0, -1}, /*passes=*/2)) == LossResult());
  });
}

}  // namespace
}  // namespace edgewise::kernels
