// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/loss.h"

#include <cmath>
#include <limits>

#include "tests/ops/tensors.h"
#include "tests/support/gradient_check.h"

namespace edgewise {
namespace {

at::Tensor labels(const std::vector<std::int64_t>& values) { return at::tensor(values, at::kLong).to(test_device()); }

std::vector<LossOptions> loss_options() {
  return {{},
          {.smoothing = 0.1},
          {.smoothing = 0.1, .ignored = 0},
          {.smoothing = 0.0, .ignored = 2},
          {.smoothing = 0.4, .ignored = 3},
          {.smoothing = 1.0, .ignored = 1}};
}

TEST(SmoothedLoss, MatchesItsDefinitionInOutputAndGradients) {
  for (const LossOptions& options : loss_options()) {
    for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
      SCOPED_TRACE(options.smoothing);
      SCOPED_TRACE(options.ignored);
      const at::Tensor labels_T = labels({3, 0, 1, 1, 2, 3, 0});
      expect_same_function([&](const Tensors& x) { return smoothed_loss(x[0], labels_T, options); },
                           [&](const Tensors& x) { return smoothed_loss_plain(x[0], labels_T, options); },
                           {normal({7, 4}, 1, type)});
    }
  }
}

TEST(SmoothedLoss, IsTheDivergenceBetweenTargetAndModel) {
  const at::Tensor logits = normal({1, 5}, 1);
  const at::Tensor log_model = logits.log_softmax(1)[0];
  const std::vector<double> target = {0.0, 0.1, 0.7, 0.1, 0.1};
  double divergence = 0;
  for (int word = 1; word < 5; ++word) {
    divergence += target[word] * (std::log(target[word]) - log_model[word].item<double>());
  }

  const at::Tensor loss = smoothed_loss(logits, labels({2}), {.smoothing = 0.3, .ignored = 0});

  EXPECT_EQ(loss.dim(), 0);
  EXPECT_NEAR(loss.item<double>(), divergence, 1e-12);
}

TEST(SmoothedLoss, IsZeroForAModelWithTheTargetDistribution) {
  const at::Tensor target = at::tensor(std::vector<double>{0.1, 0.7, 0.1, 0.1}).to(test_device()).unsqueeze(0);

  EXPECT_NEAR(smoothed_loss(target.log(), labels({1}), {.smoothing = 0.3}).item<double>(), 0.0, 1e-12);
}

TEST(SmoothedLoss, IsCrossEntropyWithoutSmoothing) {
  const at::Tensor logits = normal({6, 9}, 1);
  const at::Tensor labels_T = labels({0, 8, 3, 3, 1, 5});

  expect_close(smoothed_loss(logits, labels_T), at::cross_entropy_loss(logits, labels_T, {}, at::Reduction::Sum),
               "loss");
}

TEST(SmoothedLoss, IsZeroForIgnoredLabels) {
  at::Tensor logits = normal({3, 4}, 1);
  const LossOptions options = {.smoothing = 0.2, .ignored = 1};
  const auto all = output_and_gradients(
      [&](const Tensors& x) {
        return smoothed_loss(x[0], labels({2, 1, 0}), options);
      },
      {logits});

  const at::Tensor without = smoothed_loss(logits.index_select(0, labels({0, 2})), labels({2, 0}), options);
  EXPECT_NEAR(all[0].item<double>(), without.item<double>(), 1e-12);
  EXPECT_TRUE(all[1][1].eq(0).all().item<bool>());
}

TEST(SmoothedLoss, DoesNotDependOnHowImprobableAnIgnoredTokenIs) {
  const auto loss_with_logit = [](double logit) {
    at::Tensor logits = normal({2, 4}, 1);
    logits.select(1, 1).fill_(logit);
    return output_and_gradients(
        [](const Tensors& x) {
          return smoothed_loss(x[0], labels({0, 2}), {.smoothing = 0.2, .ignored = 1});
        },
        {logits});
  };

  const Tensors impossible = loss_with_logit(-std::numeric_limits<double>::infinity());
  const Tensors improbable = loss_with_logit(-1000);

  EXPECT_GT(improbable[0].item<double>(), 0.1);
  expect_close(impossible[0], improbable[0], "loss");
  expect_close(impossible[1], improbable[1], "gradient");
}

TEST(SmoothedLoss, GivesTheLabelProbabilityOneInAVocabularyOfOneToken) {
  const at::Tensor logits = normal({2, 2}, 1);
  for (const auto& f : {smoothed_loss, smoothed_loss_plain}) {
    expect_close(f(logits, labels({1, 1}), {.smoothing = 0.3, .ignored = 0}), f(logits, labels({1, 1}), {}), "loss");
    EXPECT_EQ(f(normal({2, 1}, 1), labels({0, 0}), {.smoothing = 0.3}).item<double>(), 0.0);
  }
}

TEST(SmoothedLoss, IsZeroWithoutTokens) {
  const auto result = output_and_gradients(
      [](const Tensors& x) { return smoothed_loss(x[0], labels({}), {.smoothing = 0.1}); }, {normal({0, 4}, 1)});

  EXPECT_EQ(result[0].item<double>(), 0.0);
  EXPECT_EQ(result[1].sizes(), (at::IntArrayRef{0, 4}));
}

TEST(SmoothedLoss, HasGradientsThatMatchFiniteDifferences) {
  for (const LossOptions& options : loss_options()) {
    expect_gradients_match(
        [&](const Tensors& x) {
          return smoothed_loss(x[0], labels({3, 0, 1, 2, 1}), options);
        },
        {normal({4, 5}, 1).t()});
  }
}

TEST(CountCorrect, CountsLabelsThatAreTheMostLikelyToken) {
  const at::Tensor logits = at::eye(4).index_select(0, labels({3, 1, 0, 2, 2}));

  EXPECT_EQ(count_correct(logits, labels({3, 1, 1, 2, 0})), 3);
  EXPECT_EQ(count_correct(logits, labels({3, 1, 1, 2, 0}), {.ignored = 1}), 2);
  EXPECT_EQ(count_correct(at::zeros({0, 4}).to(test_device()), labels({})), 0);
}

}  // namespace
}  // namespace edgewise
