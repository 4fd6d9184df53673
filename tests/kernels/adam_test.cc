// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/optimiser/adam.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/kernels/implementations.h"
#include "tests/kernels/random_numbers.h"

namespace edgewise::kernels {
namespace {

/// Runs the kernel for GPUs or, in test_kernels, the reference: the CPU has no other kernel.
void run_update(const AdamArguments& p) {
  if constexpr (kTestsGpu) {
    adam_update(p, device::Stream());
  } else {
    reference::adam_update(p);
  }
}

struct Options {
  float divisor = 37.5f;
  double beta1 = 0.9;
  bool has_matrices = true;
  bool has_divided_gradient = true;
};

/// The arrays of the optimiser, which a step changes.
struct State {
  explicit State(std::int64_t count)
      : value(normal_numbers<float>(count, 1)),
        mean(normal_numbers<float>(count, 2)),
        variance(normal_numbers<float>(count, 3)),
        divided_gradient(HostBuffer<float>(value.size()).read()) {
    for (float& v : variance) v *= v;
  }

  friend bool operator==(const State& a, const State& b) {
    return has_same_bits(a.value, b.value) && has_same_bits(a.mean, b.mean) && has_same_bits(a.variance, b.variance) &&
           has_same_bits(a.divided_gradient, b.divided_gradient);
  }

  std::vector<float> value, mean, variance, divided_gradient;
};

class Problem {
 public:
  Problem(std::int64_t count, const Options& options)
      : options_(options),
        gradient_(normal_numbers<float>(count, 4)),
        is_matrix_(random_indices<std::uint8_t>(count / kElementsPerFlag + 1, 2, 5)) {
    for (float& g : gradient_) g *= 50;
  }

  State run() const {
    State state(std::ssize(gradient_));
    Array<float> value(state.value), mean(state.mean), variance(state.variance);
    Array<float> divided_gradient(state.divided_gradient);
    const Array<float> gradient(gradient_), divisor(std::vector<float>{options_.divisor});
    const Array<std::uint8_t> is_matrix(is_matrix_);
    run_update(update(value.data(), gradient.data(), mean.data(), variance.data(), divided_gradient.data(),
                      is_matrix.data(), divisor.data()));
    state.value = value.read();
    state.mean = mean.read();
    state.variance = variance.read();
    state.divided_gradient = divided_gradient.read();
    return state;
  }

  State run_reference() const {
    State state(std::ssize(gradient_));
    reference::adam_update(update(state.value.data(), gradient_.data(), state.mean.data(), state.variance.data(),
                                  state.divided_gradient.data(), is_matrix_.data(), &options_.divisor));
    return state;
  }

 private:
  AdamArguments update(float* value, const float* gradient, float* mean, float* variance, float* divided_gradient,
                       const std::uint8_t* is_matrix, const float* divisor) const {
    return {.value = value,
            .gradient = gradient,
            .mean = mean,
            .variance = variance,
            .divided_gradient = options_.has_divided_gradient ? divided_gradient : nullptr,
            .is_matrix = options_.has_matrices ? is_matrix : nullptr,
            .count = std::ssize(gradient_),
            .divisor = divisor,
            .learning_rate = 0.0123,
            .beta1 = options_.beta1,
            .beta2 = 0.98,
            .epsilon = 1e-9,
            .weight_decay = 0.01,
            .step = 7};
  }

  Options options_;
  std::vector<float> gradient_;
  std::vector<std::uint8_t> is_matrix_;
};

TEST(Adam, ComputesAlgorithm1OfThePaper) {
  constexpr double kBeta1 = 0.9;
  constexpr double kBeta2 = 0.98;
  Array<float> value(std::vector<float>{2}), mean(std::vector<float>{0}), variance(std::vector<float>{0});
  const Array<float> divisor(std::vector<float>{2});
  double theta = 2.0;
  double m = 0.0;
  double v = 0.0;
  std::int64_t step = 0;
  for (const double g : {0.5, -3.0, 0.0, 7.25}) {
    ++step;
    m = kBeta1 * m + (1 - kBeta1) * g;
    v = kBeta2 * v + (1 - kBeta2) * g * g;
    const double t = static_cast<double>(step);
    theta -= 0.01 * m / (1.0 - std::pow(kBeta1, t)) / (std::sqrt(v / (1.0 - std::pow(kBeta2, t))) + 1e-9);

    const Array<float> gradient(std::vector<float>{static_cast<float>(2 * g)});
    run_update({.value = value.data(),
                .gradient = gradient.data(),
                .mean = mean.data(),
                .variance = variance.data(),
                .divided_gradient = nullptr,
                .is_matrix = nullptr,
                .count = 1,
                .divisor = divisor.data(),
                .learning_rate = 0.01,
                .beta1 = kBeta1,
                .beta2 = kBeta2,
                .epsilon = 1e-9,
                .weight_decay = 0.0,
                .step = step});

    EXPECT_NEAR(value.read()[0], theta, 1e-6) << "step " << step;
  }
}

TEST(Adam, ChangesNothingIfTheDivisorIsNotFinite) {
  for (const float divisor : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    EXPECT_TRUE(Problem(50, {.divisor = divisor}).run() == State(50));
  }
}

#ifdef EDGEWISE_TESTS_GPU
TEST(Adam, GivesTheBitsOfTheReference) {
  for (const std::int64_t count : {0, 1, 4, 15, 48, 1024, 1028, 3001}) {
    SCOPED_TRACE(testing::Message() << count << " values");
    for (const Options& options :
         {Options{}, Options{.beta1 = 0.4}, Options{.has_matrices = false}, Options{.has_divided_gradient = false}}) {
      const Problem problem(count, options);
      EXPECT_TRUE(problem.run() == problem.run_reference());
    }
  }
}

double sum_on_device(const std::vector<float>& values) {
  const Array<float> buffer(values);
  Array<float> workspace(static_cast<std::size_t>(sum_squares_workspace(std::ssize(values))));
  Array<double> sum(1);
  sum_squares(buffer.data(), std::ssize(values), workspace.data(), sum.data(), device::Stream());
  return sum.read()[0];
}

TEST(SumSquares, MatchesTheSumInDouble) {
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{1}, std::int64_t{4}, std::int64_t{1027},
                                   kSquaresPerPart, 3 * kSquaresPerPart + 5}) {
    const std::vector<float> values = normal_numbers<float>(count, 1);
    double expected = 0;
    for (const double value : values) expected += value * value;
    EXPECT_NEAR(sum_on_device(values), expected, 1e-5 * expected) << count << " values";
  }
}

TEST(SumSquares, GivesTheSameBitsInEverySchedule) {
  const std::vector<float> values = normal_numbers<float>(kSquaresPerPart + 70, 1);
  const double expected = sum_on_device(values);
  for_schedules([&] { EXPECT_EQ(sum_on_device(values), expected); });
}

struct Division {
  float divisor;
  double norm;
};

Division divide(double sum_of_squares, double tokens, double clip_norm) {
  const Array<double> squares(std::vector<double>{sum_of_squares});
  Array<float> divisor(1);
  Array<double> norm(1);
  divide_by_norm({.sum_of_squares = squares.data(),
                  .tokens = tokens,
                  .clip_norm = clip_norm,
                  .divisor = divisor.data(),
                  .norm = norm.data()},
                 device::Stream());
  return {divisor.read()[0], norm.read()[0]};
}

TEST(DivideByNorm, DividesByTheTokensAndClipsALargerNorm) {
  EXPECT_EQ(divide(400, 10, 0).norm, 2.0);
  EXPECT_EQ(divide(400, 10, 0).divisor, 10.0f);
  EXPECT_EQ(divide(400, 10, 2).divisor, 10.0f);
  EXPECT_EQ(divide(400, 10, 0.5).divisor, 40.0f);
  EXPECT_EQ(divide(400, 10, 1e-300).divisor, std::numeric_limits<float>::max());
}

TEST(DivideByNorm, GivesNanIfTheNormIsNotFinite) {
  for (const double squares : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_TRUE(std::isnan(divide(squares, 10, 1).divisor));
    EXPECT_FALSE(std::isfinite(divide(squares, 10, 1).norm));
  }
}

#endif  // EDGEWISE_TESTS_GPU

}  // namespace
}  // namespace edgewise::kernels
