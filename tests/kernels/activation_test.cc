// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gemm/activation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>
#include <vector>

#include "edgewise/base/bfloat16.h"
#include "edgewise/kernels/gemm/linear_gradient.h"
#include "tests/kernels/implementations.h"
#include "tests/kernels/random_numbers.h"

namespace edgewise::kernels {
namespace {

constexpr GemmActivation kAll[] = {GemmActivation::kNone, GemmActivation::kRelu, GemmActivation::kGelu,
                                   GemmActivation::kSilu, GemmActivation::kGeluTanh};

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
    case GemmActivation::kGeluTanh:
      return x / (1 + std::exp(-std::sqrt(8 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
  }
  return x;
}

/// Returns dropout(activation(x)). The kernel for the CPU has no dropout, and computes in place.
template <typename T>
std::vector<T> activated(std::vector<T> x, GemmActivation activation, const Dropout& rule = {}) {
#ifdef EDGEWISE_TESTS_GPU
  const Array<T> from(x);
  Array<T> to(x.size());
  activate(ActivationForward<T>{activation, std::ssize(x), from.data(), to.data(), rule}, device::Stream());
  return to.read();
#else
  EXPECT_EQ(rule.rate, 0);
  activate(activation, std::ssize(x), x.data());
  return x;
#endif
}

/// Returns the error of rounding a number to T. The last summand is half the smallest number.
template <typename T>
double rounding(double value) {
  return std::is_same_v<T, float> ? 0x1p-24 * std::abs(value) + 0x1p-150 : 0x1p-8 * std::abs(value) + 0x1p-134;
}

/// Returns the error that activation(x) may have, whose definition is `expected`.
template <typename T>
double allowed_error(GemmActivation activation, double x, double expected) {
  if (!kTestsGpu) {
    // The reference of GELU adds 1 to erf, whose error of half a unit in the last place is then that of a large number.
    return 1e-6 * std::abs(expected) + (instruction_set() == InstructionSet::kReference ? 5e-7 : 1e-8);
  }
  const bool is_exact = activation == GemmActivation::kNone || activation == GemmActivation::kRelu;
  // exp() and the reciprocal have relative errors of about 2^-22, and the polynomial of GELU has 1e-6 of a tail, which
  // is at most 1/2.
  return rounding<T>(expected) + (is_exact ? 0 : 1e-6 * std::abs(x));
}

/// Numbers of all magnitudes: grids around 0 and the limits of exp(), and powers of 2 up to the largest float. The
/// emulator is slow.
template <typename T>
std::vector<T> arguments() {
  constexpr int kRange = kTestsGpu ? 15 : 20;
  constexpr int kFine = kTestsGpu ? 200 : 1000;
  constexpr int kCoarse = kTestsGpu ? 4 : 16;
  std::vector<T> values = {T(0.0f), T(-0.0f), T(std::numeric_limits<float>::denorm_min())};
  for (int i = -kRange * kFine; i <= kRange * kFine; ++i) values.push_back(T(static_cast<float>(i) / kFine));
  for (int i = -125 * kCoarse; i <= 125 * kCoarse; ++i) values.push_back(T(static_cast<float>(i) / kCoarse));
  for (int exponent = -140; exponent <= (kTestsGpu ? 126 : 127); ++exponent) {
    values.push_back(T(std::ldexp(1.3f, exponent)));
    values.push_back(T(std::ldexp(-1.3f, exponent)));
  }
  if (!kTestsGpu) {
    values.insert(values.end(), {T(std::numeric_limits<float>::max()), T(std::numeric_limits<float>::lowest())});
  }
  return values;
}

template <typename T>
class ActivationOf : public testing::Test {};
using ElementTypes = std::conditional_t<kTestsGpu, testing::Types<float, BFloat16>, testing::Types<float>>;
TYPED_TEST_SUITE(ActivationOf, ElementTypes);

TYPED_TEST(ActivationOf, FollowsTheDefinitionForNumbersOfAllMagnitudes) {
  const std::vector<TypeParam> x = arguments<TypeParam>();
  for_implementations([&] {
    for (const GemmActivation activation : kAll) {
      const std::vector<TypeParam> y = activated(x, activation);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double expected = define(x[i], activation);
        ASSERT_NEAR(y[i], expected, allowed_error<TypeParam>(activation, x[i], expected))
            << "activation " << static_cast<int>(activation) << " of " << +x[i];
      }
    }
  });
}

TEST(Activation, KeepsInfinityAndNaN) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for_implementations([&] {
    for (const GemmActivation activation : kAll) {
      const std::vector<float> y = activated<float>({kInfinity, std::nanf(""), 1.0f}, activation);
      EXPECT_EQ(y[0], kInfinity);
      EXPECT_TRUE(std::isnan(y[1]));
      EXPECT_TRUE(std::isfinite(y[2]));
    }
  });
}

#ifndef EDGEWISE_TESTS_GPU
TEST(Activation, GivesANumberTheSameBitsAtAnyPlaceAndChangesNothingBehindTheLast) {
  std::vector<float> x;
  for (int i = 0; i < 70; ++i) x.push_back(0.37f * static_cast<float>(i - 35));
  for_implementations([&] {
    for (const GemmActivation activation : kAll) {
      const std::vector<float> expected = activated(x, activation);
      for (std::int64_t first = 0; first < std::ssize(x); first += 3) {
        for (std::int64_t count = 0; count <= std::min<std::int64_t>(40, std::ssize(x) - first); ++count) {
          std::vector<float> part(x.begin() + first, x.end());
          activate(activation, count, part.data());
          ASSERT_TRUE(std::equal(part.begin(), part.begin() + count, expected.begin() + first));
          ASSERT_TRUE(std::equal(part.begin() + count, part.end(), x.begin() + first + count));
        }
      }
    }
  });
}
#else  // EDGEWISE_TESTS_GPU
constexpr Dropout kNoDropout = {};
constexpr Dropout kDropout = {.rate = 0.4, .seed = 11, .stream = 4};

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
    case GemmActivation::kGeluTanh: {
      const double factor = std::sqrt(8 / std::numbers::pi);
      const double sigmoid = 1 / (1 + std::exp(-factor * (x + 0.044715 * x * x * x)));
      return sigmoid * (1 + x * (1 - sigmoid) * factor * (1 + 3 * 0.044715 * x * x));
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

TYPED_TEST(ActivationOf, DropsTheValuesThatDropoutDropsOnTheCpu) {
  for (const std::size_t count : {0, 1, 5, 4096, 4099}) {
    SCOPED_TRACE(count);
    const auto x = draw<TypeParam>(count, 5);
    const std::vector<float> factors = draw_factors(kDropout, count);
    for (const GemmActivation activation : kAll) {
      const std::vector<TypeParam> y = activated(x, activation, kDropout);
      for (std::size_t i = 0; i < count; ++i) {
        const double expected = define(x[i], activation) * factors[i];
        ASSERT_NEAR(y[i], expected, rounding<TypeParam>(expected) + 3e-6 * std::abs(x[i])) << i;
      }
    }
  }
}

TEST(Activation, MayOverwriteItsArgument) {
  const auto x = draw<float>(300, 5);
  Array<float> values(x);
  activate(ActivationForward<float>{GemmActivation::kGelu, 300, values.data(), values.data(), kDropout},
           device::Stream());
  EXPECT_EQ(values.read(), activated(x, GemmActivation::kGelu, kDropout));
}

template <typename T>
struct GradientResult {
  std::vector<T> grad_x;
  std::vector<float> grad_bias;
};

template <typename T>
GradientResult<T> run_activation_gradient(ActivationGradient<T> p, const std::vector<T>& grad_out) {
  const Array<T> from(grad_out);
  Array<T> grad_x(grad_out.size());
  Array<float> grad_bias(std::vector<float>(static_cast<std::size_t>(p.columns), 5.0f));
  Array<float> workspace(static_cast<std::size_t>(gradient_workspace_size(p.rows, p.columns)));
  p.grad_out = from.data();
  p.grad_x = grad_x.data();
  p.grad_bias = grad_bias.data();
  activation_gradient(p, workspace.data(), device::Stream());
  return {grad_x.read(), grad_bias.read()};
}

TYPED_TEST(ActivationOf, GradientOfGeluAndSiluFollowsTheDerivative) {
  for (const auto activation : {GemmActivation::kGelu, GemmActivation::kSilu, GemmActivation::kGeluTanh}) {
    for (const Dropout& rule : {kNoDropout, kDropout}) {
      for (const std::int64_t columns : {5, 132}) {
        constexpr std::int64_t kRows = 131;
        const auto count = static_cast<std::size_t>(kRows * columns);
        const auto grad_out = draw<TypeParam>(count, 3);
        auto x = draw<TypeParam>(count, 4);
        for (std::size_t i = 0; i < 40; ++i) x[i] = TypeParam(static_cast<float>(i) * 5 - 100);
        const Array<TypeParam> saved(x);
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

TYPED_TEST(ActivationOf, GivesTheSameBitsInEverySchedule) {
  for (const std::int64_t columns : {36, 131}) {
    const auto count = static_cast<std::size_t>(140 * columns);
    const auto grad_out = draw<TypeParam>(count, 3);
    const Array<TypeParam> saved(draw<TypeParam>(count, 4));
    ActivationGradient<TypeParam> p;
    p.activation = GemmActivation::kGelu;
    p.rows = 140;
    p.columns = columns;
    p.saved = saved.data();
    p.dropout = kDropout;
    const GradientResult<TypeParam> expected = run_activation_gradient(p, grad_out);
    const std::vector<TypeParam> expected_out = activated(grad_out, GemmActivation::kSilu, kDropout);
    for_schedules([&] {
      const GradientResult<TypeParam> actual = run_activation_gradient(p, grad_out);
      EXPECT_TRUE(actual.grad_x == expected.grad_x);
      EXPECT_TRUE(actual.grad_bias == expected.grad_bias);
      EXPECT_TRUE(activated(grad_out, GemmActivation::kSilu, kDropout) == expected_out);
    });
  }
}

#endif  // EDGEWISE_TESTS_GPU

}  // namespace
}  // namespace edgewise::kernels
