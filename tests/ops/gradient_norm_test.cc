// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "edgewise/ops/backend.h"
#include "edgewise/ops/optimiser.h"
#include "tests/ops/tensors.h"
#include "tests/support/emulated_kernels.h"

namespace edgewise {
namespace {

using testing::ElementsAre;

Tensors tensors_of_many_sizes() {
  const at::Tensor numbers = normal({20'011}, 1, at::kFloat);
  return {numbers.narrow(0, 0, 1), numbers.narrow(0, 16, 9000), numbers.narrow(0, 3, 20'000)};
}

TEST(SumsOfSquares, AreThoseOfEachTensor) {
  const Tensors tensors = tensors_of_many_sizes();
  const at::Tensor sums = sums_of_squares(tensors);
  ASSERT_EQ(sums.sizes(), (at::IntArrayRef{3}));
  for (std::int64_t i = 0; i < 3; ++i) {
    const double expected = tensors[static_cast<std::size_t>(i)].to(at::kDouble).square().sum().item<double>();
    EXPECT_NEAR(sums[i].item<double>(), expected, 1e-6 * expected);
  }
}

TEST(SumsOfSquares, AreZeroForATensorWithoutElements) {
  const at::Tensor none = normal({0, 5}, 1, at::kFloat);
  EXPECT_TRUE(at::equal(sums_of_squares({none}), at::zeros({1}, at::kDouble)));
  EXPECT_TRUE(
      at::equal(sums_of_squares({none, at::tensor({3.0f, 4.0f}), none}), at::tensor({0.0, 25.0, 0.0}, at::kDouble)));
}

TEST(SumsOfSquares, EqualThoseOfTheCpuOnGpus) {
  if (!has_emulator()) GTEST_SKIP() << "a build with CUDA has no emulator";
  const Tensors tensors = tensors_of_many_sizes();
  at::Tensor actual;
  EXPECT_THAT(launched_kernels([&] { actual = sums_of_squares(tensors); }), ElementsAre("sum_parts", "sum_squares"));
  expect_close(actual, sums_of_squares(tensors), "sums of squares", 1e-6);
}

TEST(DivideByNorm, ClipsTheNormOfTheMean) {
  const auto [norm, divisor] = divide_by_norm(at::full({}, 400.0, at::kDouble), /*tokens=*/5, /*clip_norm=*/0.5);
  EXPECT_EQ(norm.item<double>(), 4.0);
  EXPECT_EQ(divisor.item<float>(), 5.0f * 8.0f);
}

constexpr double kNumTokens = 7;

NormAndDivisor by_definition(const at::Tensor& sum_of_squares, double clip_norm) {
  const OperationsGuard definitions(Operations::kDefinition);
  return divide_by_norm(sum_of_squares, kNumTokens, clip_norm);
}

TEST(DivideByNorm, HasTheBitsOfItsDefinitionOnGpus) {
  if (!has_emulator()) GTEST_SKIP() << "a build with CUDA has no emulator";
  const double infinity = std::numeric_limits<double>::infinity();
  const double not_a_number = std::numeric_limits<double>::quiet_NaN();
  for (const double squares : {0.0, 1e-30, 2.0, 81.0, 1e300, infinity, not_a_number}) {
    for (const double clip_norm : {0.0, 1.0, 1e-300}) {
      const at::Tensor sum = at::full({}, squares, at::kDouble);
      const NormAndDivisor expected = by_definition(sum, clip_norm);
      NormAndDivisor actual;
      EXPECT_THAT(launched_kernels([&] { actual = divide_by_norm(sum, kNumTokens, clip_norm); }),
                  ElementsAre("divide_by_norm"));
      EXPECT_EQ(std::isnan(actual.divisor.item<float>()), !std::isfinite(squares));
      EXPECT_TRUE(at::allclose(actual.norm, expected.norm, 0, 0, /*equal_nan=*/true)) << squares << ' ' << clip_norm;
      EXPECT_TRUE(at::allclose(actual.divisor, expected.divisor, 0, 0, /*equal_nan=*/true))
          << squares << ' ' << clip_norm;
    }
  }
}

}  // namespace
}  // namespace edgewise
