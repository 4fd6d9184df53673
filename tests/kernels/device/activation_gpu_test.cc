// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <type_traits>
#include <vector>

#include "edgewise/base/bfloat16.h"
#include "edgewise/base/random.h"
#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/kernels/gemm/activation.h"
#include "edgewise/kernels/gemm/linear_gradient.h"
#include "tests/kernels/device/schedules.h"
#include "tests/kernels/host_buffer.h"
#include "tests/support/device_buffer.h"

namespace edgewise::kernels {
namespace {

using device::Buffer;

constexpr GemmActivation kActivations[] = {GemmActivation::kNone, GemmActivation::kRelu, GemmActivation::kGelu,
                                           GemmActivation::kSilu};
constexpr Dropout kNoDropout = {};
constexpr Dropout kDropout = {.rate = 0.4, .seed = 11, .stream = 4};

/// Returns the error of rounding a number to T. The last summand is half the smallest number.
template <typename T>
double rounding(double value) {
  return std::is_same_v<T, float> ? 0x1p-24 * std::abs(value) + 0x1p-150 : 0x1p-8 * std::abs(value) + 0x1p-134;
}

double define(double x, GemmActivation activation) {
  switch (activation) {
    case GemmActivation::kNone:
      return x;
    case GemmActivation::kRelu:
      return std::max(x, 0.0);
    case GemmActivation::kGelu:
      return x * 0.5 * std::erfc(-x / std::numbers::sqrt2);
    case GemmActivation::kSilu:
      return x / (1 + std::exp(-x));
  }
  return x;
}

double define_derivative(double x, GemmActivation activation) {
  switch (activation) {
    case GemmActivation::kNone:
      return 1;
    case GemmActivation::kRelu:
      return x > 0 ? 1 : 0;
    case GemmActivation::kGelu:
      return 0.5 * std::erfc(-x / std::numbers::sqrt2) + x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    case GemmActivation::kSilu: {
      const double sigmoid = 1 / (1 + std::exp(-x));
      return sigmoid * (1 + x * (1 - sigmoid));
    }
  }
  return 1;
}

/// Returns the dropout's factors of `count` values.
std::vector<float> draw_factors(const Dropout& rule, std::size_t count) {
  std::vector<float> factors(count, 1.0f);
  dropout(rule, std::ssize(factors), factors.data(), factors.data());
  return factors;
}

template <typename T>
std::vector<T> draw(std::size_t count, std::uint64_t seed) {
  RandomStream random(seed);
  std::vector<T> values(count);
  for (T& value : values) value = T(static_cast<float>(2 * random.normal()));
  return values;
}

template <typename T>
std::vector<T> run_activation(const std::vector<T>& x, GemmActivation activation, const Dropout& rule) {
  const Buffer<T> from(x);
  Buffer<T> to(x.size());
  activate(ActivationForward<T>{activation, std::ssize(x), from.data(), to.data(), rule}, device::Stream());
  return to.read();
}

/// Numbers of all magnitudes: a grid around 0 and the limits of exp(), and powers of 2 up to the largest float.
std::vector<float> arguments() {
  std::vector<float> values = {0.0f, -0.0f, std::numeric_limits<float>::denorm_min()};
  for (int i = -3'000; i <= 3'000; ++i) values.push_back(static_cast<float>(i) / 200);
  for (int i = -500; i <= 500; ++i) values.push_back(static_cast<float>(i) / 4);
  for (int exponent = -140; exponent <= 126; ++exponent) {
    values.push_back(std::ldexp(1.3f, exponent));
    values.push_back(std::ldexp(-1.3f, exponent));
  }
  return values;
}

template <typename T>
class ActivationOnGpus : public testing::Test {};
using ElementTypes = testing::Types<float, BFloat16>;
TYPED_TEST_SUITE(ActivationOnGpus, ElementTypes);

TYPED_TEST(ActivationOnGpus, FollowsTheDefinitionForNumbersOfAllMagnitudes) {
  std::vector<TypeParam> x;
  for (const float value : arguments()) x.push_back(TypeParam(value));
  for (const GemmActivation activation : kActivations) {
    const std::vector<TypeParam> y = run_activation(x, activation, kNoDropout);
    // exp() and the reciprocal have relative errors of about 2^-22, and the polynomial of GELU has 1e-6 of a tail,
    // which is at most 1/2.
    const double error = activation == GemmActivation::kGelu || activation == GemmActivation::kSilu ? 1e-6 : 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double expected = define(x[i], activation);
      ASSERT_NEAR(y[i], expected, rounding<TypeParam>(expected) + error * std::abs(x[i]))
          << "activation " << static_cast<int>(activation) << " of " << +x[i];
    }
  }
}

TYPED_TEST(ActivationOnGpus, DropsTheValuesThatDropoutDropsOnTheCpu) {
  for (const std::size_t count : {0, 1, 5, 4096, 4099}) {
    SCOPED_TRACE(count);
    const auto x = draw<TypeParam>(count, 5);
    const std::vector<float> factors = draw_factors(kDropout, count);
    for (const GemmActivation activation : kActivations) {
      const std::vector<TypeParam> y = run_activation(x, activation, kDropout);
      for (std::size_t i = 0; i < count; ++i) {
        const double expected = define(x[i], activation) * factors[i];
        ASSERT_NEAR(y[i], expected, rounding<TypeParam>(expected) + 3e-6 * std::abs(x[i])) << i;
      }
    }
  }
}

TEST(ActivationOnGpus, KeepsInfinityAndNaN) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const GemmActivation activation : kActivations) {
    const std::vector<float> y = run_activation<float>({kInfinity, std::nanf(""), 1.0f}, activation, kNoDropout);
    EXPECT_EQ(y[0], kInfinity);
    EXPECT_TRUE(std::isnan(y[1]));
    EXPECT_TRUE(std::isfinite(y[2]));
  }
}

TEST(ActivationOnGpus, MayOverwriteItsArgument) {
  const auto x = draw<float>(300, 5);
  Buffer<float> values(x);
  activate(ActivationForward<float>{GemmActivation::kGelu, 300, values.data(), values.data(), kDropout},
           device::Stream());
  EXPECT_EQ(values.read(), run_activation(x, GemmActivation::kGelu, kDropout));
}

template <typename T>
struct GradientResult {
  std::vector<T> grad_x;
  std::vector<float> grad_bias;
};

/// Runs `run`(arguments, workspace) for arguments of random numbers, in Memory. Both gradients are optional.
template <template <typename> class Memory, typename Arguments, typename T, class Run>
GradientResult<T> run_gradient(Arguments p, bool has_x, bool has_bias, const std::vector<T>& grad_out, Run&& run) {
  const Memory<T> from(grad_out);
  Memory<T> grad_x(grad_out.size());
  Memory<float> grad_bias(std::vector<float>(static_cast<std::size_t>(p.columns), 5.0f));
  Memory<float> workspace(static_cast<std::size_t>(gradient_workspace_size(p.rows, p.columns)));
  p.grad_out = from.data();
  p.grad_bias = has_bias ? grad_bias.data() : nullptr;
  run(p, has_x ? grad_x.data() : nullptr, has_bias ? workspace.data() : nullptr);
  return {grad_x.read(), grad_bias.read()};
}

template <typename T>
GradientResult<T> run_activation_gradient(const ActivationGradient<T>& p, const std::vector<T>& grad_out) {
  return run_gradient<Buffer>(p, true, true, grad_out, [](auto arguments, T* grad_x, float* workspace) {
    arguments.grad_x = grad_x;
    activation_gradient(arguments, workspace, device::Stream());
  });
}

struct GradientCase {
  std::string name;
  bool is_relu = false;
  double dropout = 0.0;
  bool has_x = true;
  bool has_bias = true;
};

std::vector<GradientCase> all_cases() {
  return {{.name = "sums over tokens", .has_x = false},
          {.name = "copy", .has_bias = false},
          {.name = "ReLU", .is_relu = true},
          {.name = "ReLU, no bias", .is_relu = true, .has_bias = false},
          {.name = "dropout", .dropout = 0.4},
          {.name = "ReLU, dropout", .is_relu = true, .dropout = 0.4}};
}

template <typename T>
void expect_like_reference(const GradientCase& options, std::int64_t rows, std::int64_t columns) {
  const auto count = static_cast<std::size_t>(rows * columns);
  const auto grad_out = draw<T>(count, 3);
  const HostBuffer<T> relu_out(draw<T>(count, 4));
  const Buffer<T> relu_out_on_device(relu_out.read());
  LinearGradient<T> p = {.rows = rows,
                         .columns = columns,
                         .grad_out = nullptr,
                         .relu_out = options.is_relu ? relu_out.data() : nullptr,
                         .dropout = {options.dropout, /*seed=*/11, /*stream=*/4},
                         .grad_sum = nullptr,
                         .grad_bias = nullptr};
  const GradientResult<T> expected = run_gradient<HostBuffer>(p, options.has_x, options.has_bias, grad_out,
                                                              [](auto arguments, T* grad_x, float* /*workspace*/) {
                                                                arguments.grad_sum = grad_x;
                                                                reference::linear_gradient(arguments);
                                                              });
  if (options.is_relu) p.relu_out = relu_out_on_device.data();
  const GradientResult<T> actual = run_gradient<Buffer>(p, options.has_x, options.has_bias, grad_out,
                                                        [](auto arguments, T* grad_x, float* workspace) {
                                                          arguments.grad_sum = grad_x;
                                                          linear_gradient(arguments, workspace, device::Stream());
                                                        });
  for (std::size_t i = 0; options.has_x && i < count; ++i) {
    ASSERT_EQ(static_cast<float>(actual.grad_x[i]), static_cast<float>(expected.grad_x[i])) << i;
  }
  // The sums of up to 300 numbers of size about 4 are computed in float.
  for (std::size_t i = 0; i < expected.grad_bias.size(); ++i) {
    ASSERT_NEAR(actual.grad_bias[i], expected.grad_bias[i], 1e-4) << i;
  }
}

TYPED_TEST(ActivationOnGpus, LinearGradientMatchesTheReference) {
  for (const GradientCase& options : all_cases()) {
    for (const std::int64_t rows : {0, 1, 63, 129, 300}) {
      for (const std::int64_t columns : {1, 3, 8, 33, 132}) {
        SCOPED_TRACE(options.name + ", " + std::to_string(rows) + " x " + std::to_string(columns));
        expect_like_reference<TypeParam>(options, rows, columns);
      }
    }
  }
}

TYPED_TEST(ActivationOnGpus, GradientOfGeluAndSiluFollowsTheDerivative) {
  for (const GemmActivation activation : {GemmActivation::kGelu, GemmActivation::kSilu}) {
    for (const Dropout& rule : {kNoDropout, kDropout}) {
      for (const std::int64_t columns : {5, 132}) {
        constexpr std::int64_t kRows = 131;
        const auto count = static_cast<std::size_t>(kRows * columns);
        const auto grad_out = draw<TypeParam>(count, 3);
        auto x = draw<TypeParam>(count, 4);
        for (std::size_t i = 0; i < 40; ++i) x[i] = TypeParam(static_cast<float>(i) * 5 - 100);
        const Buffer<TypeParam> saved(x);
        ActivationGradient<TypeParam> p;
        p.activation = activation;
        p.rows = kRows;
        p.columns = columns;
        p.saved = saved.data();
        p.dropout = rule;

        const GradientResult<TypeParam> actual = run_activation_gradient(p, grad_out);

        const std::vector<float> factors = draw_factors(rule, count);
        std::vector<double> sums(static_cast<std::size_t>(columns), 5.0);
        for (std::size_t i = 0; i < count; ++i) {
          const double scale = static_cast<double>(grad_out[i]) * factors[i];
          const double expected = scale * define_derivative(x[i], activation);
          sums[i % sums.size()] += expected;
          ASSERT_NEAR(actual.grad_x[i], expected, rounding<TypeParam>(expected) + 2e-6 * std::abs(scale))
              << "derivative at " << +x[i];
        }
        for (std::size_t i = 0; i < sums.size(); ++i) ASSERT_NEAR(actual.grad_bias[i], sums[i], 1e-4) << i;
      }
    }
  }
}

TYPED_TEST(ActivationOnGpus, GivesTheSameBitsInEverySchedule) {
  for (const std::int64_t columns : {36, 131}) {
    const auto count = static_cast<std::size_t>(140 * columns);
    const auto grad_out = draw<TypeParam>(count, 3);
    const Buffer<TypeParam> saved(draw<TypeParam>(count, 4));
    ActivationGradient<TypeParam> p;
    p.activation = GemmActivation::kGelu;
    p.rows = 140;
    p.columns = columns;
    p.saved = saved.data();
    p.dropout = kDropout;
    const GradientResult<TypeParam> expected = run_activation_gradient(p, grad_out);
    const std::vector<TypeParam> expected_out = run_activation(grad_out, GemmActivation::kSilu, kDropout);
    gpu::for_each_schedule([&] {
      const GradientResult<TypeParam> actual = run_activation_gradient(p, grad_out);
      EXPECT_TRUE(actual.grad_x == expected.grad_x);
      EXPECT_TRUE(actual.grad_bias == expected.grad_bias);
      EXPECT_TRUE(run_activation(grad_out, GemmActivation::kSilu, kDropout) == expected_out);
    });
  }
}

}  // namespace
}  // namespace edgewise::kernels
