// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/adam.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/optimiser/adam.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/optimiser.h"
#include "edgewise/train/weight_average.h"
#include "tests/distributed/process_threads.h"
#include "tests/support/emulated_kernels.h"
#include "tests/train/flat_training.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;

at::Tensor leaf(const at::Tensor& values) { return values.clone().set_requires_grad(true); }

at::Tensor random(at::IntArrayRef shape, std::uint64_t seed, at::ScalarType dtype = at::kDouble) {
  return at::randn(shape, at::make_generator<at::CPUGeneratorImpl>(seed), dtype);
}

void set_gradient(const at::Tensor& tensor, const at::Tensor& gradient) { tensor.mutable_grad().copy_(gradient); }

TEST(Adam, EqualsAlgorithm1OfThePaper) {
  const at::Tensor parameter = leaf(at::full({1}, 2.0, at::kDouble));
  FlatTraining training({{"x", parameter}}, {.beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-9});

  double theta = 2.0;
  double m = 0.0;
  double v = 0.0;
  const std::array<double, 4> gradients = {0.5, -3.0, 0.0, 7.25};
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const auto t = static_cast<double>(i + 1);
    m = 0.9 * m + 0.1 * gradients[i];
    v = 0.98 * v + 0.02 * gradients[i] * gradients[i];
    const double unbiased_m = m / (1.0 - std::pow(0.9, t));
    const double unbiased_v = v / (1.0 - std::pow(0.98, t));
    theta -= 0.01 * unbiased_m / (std::sqrt(unbiased_v) + 1e-9);

    set_gradient(parameter, at::full({1}, gradients[i], at::kDouble));
    training.adam.step(/*learning_rate=*/0.01, /*divisor=*/1);

    EXPECT_NEAR(parameter.item<double>(), theta, 1e-14) << "step " << t;
  }
  EXPECT_EQ(training.adam.num_steps(), 4);
}

TEST(Adam, GivesTheSameBitsOnAnyNumberOfThreads) {
  const auto train = [](int threads) {
    const NumThreadsScope scope(threads);
    const at::Tensor large = leaf(random({301, 707}, 1, at::kFloat));
    const at::Tensor small = leaf(random({13}, 2, at::kFloat));
    FlatTraining training({{"large", large}, {"small", small}});
    WeightAverage average(training.parameters, training.pieces, 0.9);
    std::vector<double> norms;
    for (std::uint64_t step = 0; step < 3; ++step) {
      training.gradient_sum.clear();
      large.mutable_grad().add_(random({301, 707}, 10 + step, at::kFloat));
      small.mutable_grad().add_(random({13}, 20 + step, at::kFloat));
      norms.push_back(std::sqrt(training.gradient_sum.sum_of_squares().item<double>()));
      training.adam.step(0.01, clip_divisor(norms.back(), 1.0));
      average.update();
    }
    return std::tuple(norms, large.detach(), small.detach(), average.averages());
  };
  const auto [norms, large, small, average] = train(1);
  const at::Tensor all_gradients = random({301, 707}, 12, at::kFloat);
  EXPECT_NEAR(norms[2], at::cat({all_gradients.view(-1), random({13}, 22, at::kFloat)}).norm().item<double>(), 1e-3);
  for (const int threads : {2, 5}) {
    const auto [other_norms, other_large, other_small, other_average] = train(threads);
    EXPECT_EQ(other_norms, norms);
    EXPECT_TRUE(other_large.equal(large));
    EXPECT_TRUE(other_small.equal(small));
    EXPECT_TRUE(other_average.equal(average));
  }
}

class AdamByDtype : public testing::TestWithParam<at::ScalarType> {};

TEST_P(AdamByDtype, EqualsPlainTensorOperations) {
  const at::ScalarType dtype = GetParam();
  const at::Tensor first = leaf(random({3, 7}, 1, dtype));
  const at::Tensor second = leaf(random({33}, 2, dtype));  // not a multiple of a vector's width
  FlatTraining training({{"first", first}, {"second", second}},
                        {.beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0.3});

  std::array<at::Tensor, 2> values = {first.detach().clone(), second.detach().clone()};
  std::array<at::Tensor, 2> means = {at::zeros_like(values[0]), at::zeros_like(values[1])};
  std::array<at::Tensor, 2> variances = {at::zeros_like(values[0]), at::zeros_like(values[1])};
  for (int step = 1; step <= 30; ++step) {
    for (std::size_t i = 0; i < 2; ++i) {
      const at::Tensor sum = random(values[i].sizes(), static_cast<std::uint64_t>(100 * step) + i, dtype) * 40;
      set_gradient(i == 0 ? first : second, sum);
      const at::Tensor gradient = sum / 8;
      means[i] = 0.8 * means[i] + 0.2 * gradient;
      variances[i] = 0.95 * variances[i] + 0.05 * gradient * gradient;
      const at::Tensor unbiased = means[i] / (1.0 - std::pow(0.8, step));
      if (values[i].dim() > 1) values[i] -= 0.1 * 0.3 * values[i];
      values[i] -= 0.1 * unbiased / (at::sqrt(variances[i] / (1.0 - std::pow(0.95, step))) + 1e-8);
    }
    training.adam.step(0.1, 8.0);
  }

  const double tolerance = dtype == at::kDouble ? 1e-12 : 1e-5;
  EXPECT_TRUE(at::allclose(first, values[0], tolerance, tolerance));
  EXPECT_TRUE(at::allclose(second, values[1], tolerance, tolerance));
  EXPECT_TRUE(at::allclose(training.moment("mean.second"), means[1], tolerance, tolerance));
  EXPECT_TRUE(at::allclose(training.moment("variance.first"), variances[0], tolerance, tolerance));
}

INSTANTIATE_TEST_SUITE_P(, AdamByDtype, testing::Values(at::kFloat, at::kDouble),
                         [](const auto& dtype) { return std::string(at::toString(dtype.param)); });

TEST(Adam, EqualsTheDefinitionOfTheKernelForGpus) {
  const at::Tensor parameter = leaf(random({32, 48}, 1, at::kFloat));
  FlatTraining training({{"x", parameter}}, {.beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-9, .weight_decay = 0.01});
  at::Tensor value = parameter.detach().clone();
  at::Tensor mean = at::zeros_like(value);
  at::Tensor variance = at::zeros_like(value);
  at::Tensor divided = at::zeros_like(value);
  const std::vector<std::uint8_t> is_matrix(32 * 48 / kernels::kElementsPerFlag, 1);
  const float divisor = 37.5f;
  for (std::int64_t step = 1; step <= 3; ++step) {
    const at::Tensor gradient = random({32, 48}, static_cast<std::uint64_t>(step) + 1, at::kFloat) * 50;
    set_gradient(parameter, gradient);
    training.adam.step(0.01, divisor);
    kernels::reference::adam_update({.value = value.mutable_data_ptr<float>(),
                                     .gradient = gradient.const_data_ptr<float>(),
                                     .mean = mean.mutable_data_ptr<float>(),
                                     .variance = variance.mutable_data_ptr<float>(),
                                     .divided_gradient = divided.mutable_data_ptr<float>(),
                                     .is_matrix = is_matrix.data(),
                                     .count = value.numel(),
                                     .divisor = &divisor,
                                     .learning_rate = 0.01,
                                     .beta1 = 0.9,
                                     .beta2 = 0.98,
                                     .epsilon = 1e-9,
                                     .weight_decay = 0.01,
                                     .step = step});
  }
  // The bits are equal where ATen has fused operations.
  EXPECT_TRUE(parameter.grad().equal(divided));
  EXPECT_TRUE(at::allclose(training.moment("mean.x"), mean, 1e-6, 1e-7));
  EXPECT_TRUE(at::allclose(training.moment("variance.x"), variance, 1e-6, 1e-7));
  EXPECT_TRUE(at::allclose(parameter, value, 1e-6, 1e-7));
}

TEST(Adam, UpdatesByGradientsThatItDivides) {
  const at::Tensor parameter = leaf(at::zeros({3}, at::kDouble));
  FlatTraining training({{"x", parameter}});
  set_gradient(parameter, at::tensor({3.0, 4.0, 12.0}, at::kDouble));
  training.adam.step(0.1, 2.0);
  EXPECT_TRUE(parameter.grad().equal(at::tensor({1.5, 2.0, 6.0}, at::kDouble)));
  EXPECT_TRUE(at::allclose(training.moment("mean.x"), 0.1 * parameter.grad()));
}

TEST(Adam, ChangesNothingInASkippedStep) {
  const at::Tensor parameter = leaf(at::ones({2}, at::kDouble));
  FlatTraining training({{"x", parameter}});
  set_gradient(parameter, at::tensor({3.0, 4.0}, at::kDouble));
  training.adam.step(0.1, 1.0);
  const at::Tensor value = parameter.detach().clone();
  const at::Tensor mean = training.adam.means().clone();
  const at::Tensor variance = training.adam.variances().clone();

  const at::Tensor divisor = at::full({}, std::numeric_limits<double>::quiet_NaN(), at::kFloat);
  training.adam.step(0.1, divisor, /*is_skipped=*/at::ones({}, at::kBool));
  training.adam.undo_skipped_step();

  EXPECT_TRUE(parameter.equal(value));
  EXPECT_TRUE(training.adam.means().equal(mean));
  EXPECT_TRUE(training.adam.variances().equal(variance));
  EXPECT_EQ(training.adam.num_steps(), 1);
  EXPECT_EQ(training.adam.num_skipped(), 1);
}

/// Trains a matrix and a bias in four steps, the third of which is skipped. Returns all arrays.
std::vector<at::Tensor> train_with_skipped_step(at::ScalarType type) {
  const at::Tensor matrix = leaf(random({7, 5}, 1, type));
  const at::Tensor bias = leaf(random({13}, 2, type));
  FlatTraining training({{"matrix", matrix}, {"bias", bias}}, {.weight_decay = 0.1});
  for (std::uint64_t step = 0; step < 4; ++step) {
    set_gradient(matrix, random({7, 5}, 10 + step, type));
    set_gradient(bias, random({13}, 20 + step, type));
    training.adam.step(0.01, at::full({}, 3.0, at::kFloat), /*is_skipped=*/at::full({}, step == 2, at::kBool));
    if (step == 2) training.adam.undo_skipped_step();
  }
  return {training.parameters.values(), training.parameters.gradients(), training.adam.means(),
          training.adam.variances()};
}

std::vector<at::Tensor> train_by_definition(at::ScalarType type) {
  const OperationsGuard definitions(Operations::kDefinition);
  return train_with_skipped_step(type);
}

TEST(Adam, EqualsItsDefinitionInPlainAten) {
  const std::vector<at::Tensor> actual = train_with_skipped_step(at::kDouble);
  const std::vector<at::Tensor> expected = train_by_definition(at::kDouble);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_TRUE(at::allclose(actual[i], expected[i], 1e-12, 1e-12)) << i;
  }
}

TEST(Adam, EqualsItsDefinitionOnGpus) {
  if (!has_emulator()) GTEST_SKIP() << "a build with CUDA has no emulator";
  std::vector<at::Tensor> actual;
  EXPECT_THAT(launched_kernels([&] { actual = train_with_skipped_step(at::kFloat); }), ElementsAre("adam_update"));
  const std::vector<at::Tensor> expected = train_by_definition(at::kFloat);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_TRUE(at::allclose(actual[i], expected[i], 1e-6, 1e-7)) << i;
  }
}

/// Trains a matrix and vectors of two buckets in a step of two processes. Returns the values.
at::Tensor train_in_two_processes() {
  const NumThreadsScope one_thread(1);
  at::Tensor values;
  run_as_processes(2, [&](ProcessGroup& processes) {
    const std::vector<NamedTensor> named = {{"vector", leaf(random({37}, 1, at::kFloat))},
                                            {"matrix", leaf(random({3, 100}, 2, at::kFloat))},
                                            {"bucket", leaf(random({1 << 20}, 3, at::kFloat))}};
    const FlatParameters parameters(named, 2);
    const OwnedPieces pieces(parameters, processes);
    Adam adam(parameters, pieces, {.weight_decay = 0.1});
    parameters.gradients().copy_(random({parameters.size()}, 4, at::kFloat));
    adam.step(0.01, 3.0);
    pieces.share(parameters.values());
    if (processes.rank() == 0) values = parameters.values();
  });
  return values;
}

TEST(Adam, UpdatesTheOwnedPiecesOfEachProcessOnGpus) {
  if (!has_emulator()) GTEST_SKIP() << "a build with CUDA has no emulator";
  at::Tensor actual;
  EXPECT_THAT(launched_kernels([&] { actual = train_in_two_processes(); }), ElementsAre("adam_update"));
  EXPECT_TRUE(at::allclose(actual, train_in_two_processes(), 1e-6, 1e-7));
}

TEST(Adam, KeepsAParameterWhoseGradientIsZero) {
  const at::Tensor used = leaf(at::ones({2}, at::kDouble));
  const at::Tensor unused = leaf(at::ones({2}, at::kDouble));
  FlatTraining training({{"used", used}, {"unused", unused}});
  set_gradient(used, at::ones({2}, at::kDouble));
  training.adam.step(0.1, 1.0);
  EXPECT_TRUE(unused.equal(at::ones({2}, at::kDouble)));
  EXPECT_FALSE(used.equal(at::ones({2}, at::kDouble)));
}

TEST(Adam, ContinuesFromSavedMomentsAndCounts) {
  const at::Tensor whole = leaf(random({5}, 1));
  const at::Tensor parted = leaf(random({5}, 1));
  FlatTraining whole_training({{"x", whole}});
  FlatTraining before({{"x", parted}});
  for (std::uint64_t step = 0; step < 3; ++step) {
    set_gradient(whole, random({5}, step));
    set_gradient(parted, random({5}, step));
    whole_training.adam.step(0.1, 1.0);
    before.adam.step(0.1, 1.0);
  }

  FlatTraining after({{"x", parted}});
  after.adam.means().copy_(before.adam.means());
  after.adam.variances().copy_(before.adam.variances());
  after.adam.set_counts(before.adam.num_steps(), 2);
  set_gradient(whole, random({5}, 9));
  set_gradient(parted, random({5}, 9));
  whole_training.adam.step(0.1, 1.0);
  after.adam.step(0.1, 1.0);

  EXPECT_TRUE(parted.equal(whole));
  EXPECT_EQ(after.adam.num_steps(), 4);
  EXPECT_EQ(after.adam.num_skipped(), 2);
}

TEST(Adam, NeedsADivisorAboveZero) {
  FlatTraining training({{"x", leaf(at::ones({2}))}});
  EXPECT_THAT([&] { training.adam.step(0.1, 0.0); },
              ThrowsMessage<Error>("Adam::step: divisor is 0, needs a number above 0"));
}

}  // namespace
}  // namespace edgewise
