// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gemm/activation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "edgewise/kernels/simd/instruction_set.h"

namespace edgewise::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr GemmActivation kAll[] = {GemmActivation::kNone, GemmActivation::kRelu, GemmActivation::kGelu,
                                   GemmActivation::kSilu};

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

std::vector<float> activated(std::vector<float> values, GemmActivation activation) {
  activate(activation, std::ssize(values), values.data());
  return values;
}

/// Numbers of all magnitudes: a fine grid around 0, around the limits of exp(), and powers of 2 up to the largest
/// float.
std::vector<float> arguments() {
  std::vector<float> values = {0.0f, -0.0f, std::numeric_limits<float>::denorm_min()};
  for (int i = -20'000; i <= 20'000; ++i) values.push_back(static_cast<float>(i) / 1000);
  for (int i = -2'000; i <= 2'000; ++i) values.push_back(static_cast<float>(i) / 16);
  for (int exponent = -140; exponent <= 127; ++exponent) {
    values.push_back(std::ldexp(1.3f, exponent));
    values.push_back(std::ldexp(-1.3f, exponent));
  }
  values.push_back(std::numeric_limits<float>::max());
  values.push_back(std::numeric_limits<float>::lowest());
  return values;
}

TEST(Activate, FollowsTheDefinitionForNumbersOfAllMagnitudesOnEveryInstructionSet) {
  const std::vector<float> x = arguments();
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    // The reference of GELU adds 1 to erf, whose error of half a unit in the last place is then that of a large number.
    const double rounding = set == InstructionSet::kReference ? 5e-7 : 1e-8;
    for (const GemmActivation activation : kAll) {
      const std::vector<float> y = activated(x, activation);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double expected = define(x[i], activation);
        ASSERT_NEAR(y[i], expected, 1e-6 * std::abs(expected) + rounding)
            << instruction_set_name(set) << ", activation " << static_cast<int>(activation) << " of " << x[i];
      }
    }
  }
}

TEST(Activate, KeepsInfinityAndNaN) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    for (const GemmActivation activation : {GemmActivation::kGelu, GemmActivation::kSilu}) {
      const std::vector<float> y = activated({kInfinity, std::nanf(""), 1.0f}, activation);
      EXPECT_EQ(y[0], kInfinity) << instruction_set_name(set);
      EXPECT_TRUE(std::isnan(y[1])) << instruction_set_name(set);
      EXPECT_TRUE(std::isfinite(y[2])) << instruction_set_name(set);
    }
  }
}

TEST(Activate, GivesANumberTheSameBitsAtAnyPlaceAndChangesNothingBehindTheLast) {
  std::vector<float> x;
  for (int i = 0; i < 70; ++i) x.push_back(0.37f * static_cast<float>(i - 35));
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
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
  }
}

}  // namespace
}  // namespace edgewise::kernels
