// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/weight_average.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "edgewise/base/error.h"
#include "tests/train/flat_training.h"

namespace edgewise {
namespace {

using testing::ThrowsMessage;

at::Tensor values(std::uint64_t seed) {
  return at::randn({3, 5}, at::make_generator<at::CPUGeneratorImpl>(seed), at::kDouble);
}

/// The average of a parameter "x" of one process.
struct Averaged {
  Averaged(const at::Tensor& parameter, double decay)
      : training({{"x", parameter}}), average(training.parameters, training.pieces, decay) {}

  at::Tensor value() const { return training.parameters.views(average.averages(), "")[0].tensor; }

  FlatTraining training;
  WeightAverage average;
};

TEST(WeightAverage, IsAMeanWithExponentiallyDecayingWeights) {
  const at::Tensor parameter = values(0).set_requires_grad(true);
  Averaged average(parameter, 0.9);
  at::Tensor sum = at::zeros_like(parameter.detach());
  double weights = 0.0;
  for (std::uint64_t step = 1; step <= 50; ++step) {
    parameter.detach().copy_(values(step));
    average.average.update();
    sum = 0.9 * sum + 0.1 * values(step);
    weights = 0.9 * weights + 0.1;
    ASSERT_TRUE(at::allclose(average.value(), sum / weights, 1e-12, 1e-12)) << step;
  }
  EXPECT_EQ(average.average.num_updates(), 50);
}

TEST(WeightAverage, EqualsTheParametersBeforeAndAfterTheFirstUpdate) {
  const at::Tensor parameter = values(1).set_requires_grad(true);
  Averaged average(parameter, 0.999);
  EXPECT_TRUE(average.value().equal(values(1)));
  parameter.detach().copy_(values(2));
  average.average.update();
  EXPECT_TRUE(average.value().equal(values(2)));
}

TEST(WeightAverage, ReplacesTheParametersWithinAScope) {
  const at::Tensor parameter = values(1).set_requires_grad(true);
  Averaged average(parameter, 0.5);
  const void* memory = parameter.data_ptr();
  parameter.detach().copy_(values(2));
  {
    const AveragedWeights averaged(&average.average);
    EXPECT_TRUE(parameter.equal(values(1)));
  }
  EXPECT_TRUE(parameter.equal(values(2)));
  EXPECT_TRUE(average.value().equal(values(1)));
  EXPECT_EQ(parameter.data_ptr(), memory);
  const AveragedWeights none(nullptr);
  EXPECT_TRUE(parameter.equal(values(2)));
}

TEST(WeightAverage, ContinuesFromSavedAverages) {
  const at::Tensor parameter = values(0).set_requires_grad(true);
  Averaged whole(parameter, 0.9);
  for (std::uint64_t step = 1; step <= 3; ++step) {
    parameter.detach().copy_(values(step));
    whole.average.update();
  }
  const at::Tensor copy = values(3).set_requires_grad(true);
  Averaged resumed(copy, 0.9);
  resumed.average.averages().copy_(whole.average.averages());
  resumed.average.set_num_updates(whole.average.num_updates());
  for (const at::Tensor& changed : {parameter, copy}) changed.detach().copy_(values(4));
  whole.average.update();
  resumed.average.update();
  EXPECT_TRUE(resumed.value().equal(whole.value()));
}

TEST(WeightAverage, NeedsADecayBetweenZeroAndOne) {
  for (const double decay : {0.0, 1.0}) {
    EXPECT_THAT(
        [&] { Averaged(values(1).set_requires_grad(true), decay); },
        ThrowsMessage<Error>(fmt::format("WeightAverage: decay is {}, needs a number above 0 and below 1", decay)));
  }
}

}  // namespace
}  // namespace edgewise
